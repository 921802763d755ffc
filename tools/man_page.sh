#!/usr/bin/env bash
# Prints a man page of the gpt2 command, made from what its --help prints.
#
#   man_page.sh PROGRAM > gpt2.1
set -euo pipefail

program="$1"
version="$("$program" --version)"

# Turns a help text into roff: "Options:" becomes a heading, a line "  --option TEXT   what it does"
# with the lines below it an entry, lines that begin with two spaces in other places literal text,
# and the rest paragraphs.
to_roff() {
  awk '
    function text(line) {
      gsub(/\\/, "\\e", line)
      gsub(/-/, "\\-", line)
      sub(/^[.'"'"']/, "\\\\\\&&", line)
      return line
    }
    function literal(on) {
      if (on != is_literal) print on ? ".PP\n.nf" : ".fi"
      is_literal = on
    }
    function entry(line, name) {
      literal(0)
      # Two spaces end the name, or one after "--option VALUE" if that fills its column.
      sub(/^  /, "", line)
      if (!match(line, /  +/)) match(line, /^-[^ ]+ [^ ]+ /)
      name = RSTART == 0 ? line : substr(line, 1, RSTART == 1 ? RLENGTH - 1 : RSTART - 1)
      line = RSTART == 0 ? "" : substr(line, RSTART == 1 ? RLENGTH + 1 : RSTART + RLENGTH)
      print ".TP\n.B " text(name)
      if (line != "") print text(line)
      is_entry = 1
    }
    /^Usage: / { literal(0); print ".PP\n.B " text(substr($0, 8)); next }
    /^[A-Z][^.]*:$/ { literal(0); print ".SS " text(substr($0, 1, length($0) - 1))
                      has_entries = !/^Examples:/; is_entry = 0; next }
    /^$/ { if (is_literal) print ""; else print ".PP"; is_entry = 0; next }
    /^  +[^ ]/ && is_entry && /^          / { sub(/^ +/, ""); print text($0); next }
    /^  [^ ]/ && has_entries { entry($0); next }
    /^  / { literal(1); print text(substr($0, 3)); next }
    { literal(0); print text($0); has_entries = 0 }
    END { literal(0) }'
}

help="$("$program" --help)"
printf '.TH GPT2 1 "" "%s" "User Commands"\n.SH NAME\n' "$version"
head -n 1 <<<"$help" | sed 's/^gpt2: /gpt2 \\- /'
printf '.SH DESCRIPTION\n'
tail -n +2 <<<"$help" | to_roff
for command in $(sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' <<<"$help"); do
  printf '.SH GPT2 %s\n' "${command^^}"
  "$program" "$command" --help | to_roff
done
