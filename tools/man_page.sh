#!/usr/bin/env bash
# Prints a man page of the gpt2 command, generated from the output of its --help.
#
#   man_page.sh PROGRAM > gpt2.1
set -euo pipefail

program="$1"
version="$("$program" --version)"

# to_roff HEADING: turns a help text into roff. "Options:" becomes a heading, a line
# "  --option TEXT   what it does" with the lines below it an entry, lines that begin with two
# spaces in other places literal text, and the rest paragraphs.
to_roff() {
  awk -v heading="$1" '
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
    # The description of an option may begin on the line below its name.
    function entry(line, name) {
      literal(0)
      sub(/^  /, "", line)
      name = match(line, /  +/) ? substr(line, 1, RSTART - 1) : line
      line = RSTART == 0 ? "" : substr(line, RSTART + RLENGTH)
      print ".TP\n.B " text(name)
      if (line != "") print text(line)
      is_entry = 1
    }
    function title(line) {
      sub(/:$/, "", line)
      sub(/ variables$/, "", line)  # the heading in a man page is ENVIRONMENT
      return heading == ".SH" ? toupper(line) : line
    }
    /^[A-Z][^.]*:$/ { literal(0); print heading " " text(title($0))
                      has_entries = !/^Examples:/; is_entry = 0; next }
    /^$/ { if (is_literal) print ""; else print ".PP"; is_entry = 0; next }
    /^      / && is_entry { sub(/^ +/, ""); print text($0); next }
    /^  [^ ]/ && has_entries { entry($0); next }
    /^  / { literal(1); print text(substr($0, 3)); next }
    { literal(0); print text($0); has_entries = 0 }
    END { literal(0) }'
}

# Prints the usage line of a help text as roff.
synopsis() { sed -nE 's/-/\\-/g; s/^Usage: (.*)/.B \1\n.br/p' <<<"$1"; }

export COLUMNS=80  # the width of the help texts
help="$("$program" --help)"
commands="$(sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' <<<"$help")"
printf '.TH GPT2 1 "" "%s" "User Commands"\n.SH NAME\n' "$version"
head -n 1 <<<"$help" | sed 's/^gpt2: /gpt2 \\- /'
printf '.SH SYNOPSIS\n'
synopsis "$help"
for command in $commands; do synopsis "$("$program" "$command" --help)"; done
printf '.SH DESCRIPTION\n'
tail -n +2 <<<"$help" | grep -v '^Usage: ' | to_roff .SH
for command in $commands; do
  printf '.SH GPT2 %s\n' "${command^^}"
  "$program" "$command" --help | grep -v '^Usage: ' | to_roff .SS
done
