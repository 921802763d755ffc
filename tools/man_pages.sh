#!/usr/bin/env bash
# Writes the man pages of the gpt2 command, gpt2(1) and one for each of its commands, generated from
# the output of --help-all:
#
#   man_pages.sh PROGRAM DIRECTORY
set -euo pipefail

program="$1" directory="$2"
mkdir -p "$directory"
export COLUMNS=80  # the width of the help texts
version="$("$program" --version)"

# to_roff: turns a help text into roff. "Options:" becomes a heading, a line
# "  --option TEXT   what it does" with the lines below it an entry, lines that begin with two
# spaces in other places literal text, and the rest paragraphs.
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
      return toupper(line)
    }
    /^[A-Z][^.]*:$/ { literal(0); print ".SH " text(title($0))
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

# begin NAME SUMMARY: the title and the section NAME of a page.
begin() {
  printf '.TH %s 1 "" "%s" "User Commands"\n.SH NAME\n%s \\- %s\n' \
    "${1^^}" "$version" "${1//-/\\-}" "${2//-/\\-}"
}

# see_also NAME: the section that names all pages but this one.
see_also() {
  local page others=()
  for page in gpt2 "${commands[@]/#/gpt2-}"; do
    [[ "$page" == "$1" ]] || others+=("$page")
  done
  printf '.SH SEE ALSO\n'
  printf '.BR %s (1),\n' "${others[@]//-/\\-}" | sed '$s/,$//'
}

help="$("$program" --help)"
more="$("$program" help more)"
mapfile -t commands < <(sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' <<<"$help")

{
  begin gpt2 "$(sed -n '1s/^gpt2: //p' <<<"$help")"
  printf '.SH SYNOPSIS\n'
  synopsis "$help"
  for command in "${commands[@]}"; do synopsis "$("$program" "$command" --help)"; done
  printf '.SH DESCRIPTION\n'
  sed '/^$/,$d' <<<"$more" | to_roff
  sed -n '/^Commands:/,/^Examples:/{/^Examples:/d;p}' <<<"$help" | to_roff
  sed '1,/^$/d' <<<"$more" | to_roff
  sed -n '/^Examples:/,$p' <<<"$help" | to_roff
  see_also gpt2
} >"$directory/gpt2.1"

for command in "${commands[@]}"; do
  help="$("$program" "$command" --help-all)"
  {
    begin "gpt2-$command" "$(head -n 1 <<<"$help")"
    printf '.SH SYNOPSIS\n'
    synopsis "$help"
    printf '.SH DESCRIPTION\n'
    grep -v '^Usage: ' <<<"$help" | to_roff
    see_also "gpt2-$command"
  } >"$directory/gpt2-$command.1"
done
