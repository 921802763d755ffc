#!/usr/bin/env bash
# Tests the examples of the pages:
#
#   - the programs in include/README.md: each is built with the shared library and run, and must
#     print the text that follows it;
#   - the commands in the manual, and on the page about weight types, that are followed by what they
#     print.
#
#   recipes_test.sh SOURCE_DIR SHARED_LIBRARY COMMAND CXX CC PYTHON
#
# The environment must lead PYTHON to the package and to SHARED_LIBRARY.
set -euo pipefail

source="$1" library="$2" command="$3" cxx="$4" cc="$5" python="$6"

source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$source/models/gpt2-stories"
ln -s "$source/models" models
export PATH="${command%/*}:$PATH"

# Recipe N becomes the files N.title, N.cpp (or N.c, N.python) and N.text.
awk '
  /^##/ { title = $0; sub(/^#+ /, "", title) }
  /^```/ {
    if (inside) close(file)
    inside = !inside
    if (!inside) next
    language = substr($0, 4)
    if (language ~ /^(cpp|c|python)$/) {
      number = sprintf("%02d", ++programs)
      print title >(number ".title")
    }
    file = language == "sh" ? "unused" : number "." language
    next
  }
  inside { print >file }' "$source/include/README.md"

fail() {
  printf 'recipes_test: "%s" %s\n' "$(<"$number.title")" "$*" >&2
  exit 1
}

# build FILE: makes ./program of it.
build() {
  local warnings=(-Wall -Wextra -Werror -I "$source/include")
  case "$1" in
    *.cpp) "$cxx" -std=c++20 "${warnings[@]}" "$1" "$library" -pthread -o program ;;
    *.c) "$cc" -std=c99 -Wpedantic "${warnings[@]}" "$1" "$library" -o program ;;
    *.python) printf '#!/bin/sh\nexec "%s" "%s"\n' "$python" "$1" >program && chmod +x program ;;
  esac
}

count=0
for program in [0-9]*.{cpp,c,python}; do
  number="${program%.*}"
  build "$program" || fail 'does not compile'
  LD_LIBRARY_PATH="${library%/*}" ./program >printed || fail 'ends with an error'
  [[ -s printed ]] || fail 'prints nothing'
  [[ -s "$number.text" ]] || continue  # the text of the program is long: install_test reads it
  diff "$number.text" printed || fail 'prints something else (>) than the page says (<)'
  count=$((count + 1))
done
((count >= 3)) || { printf 'recipes_test: found %d recipes only\n' "$count" >&2; exit 1; }

# -- the commands of the pages --------------------------------------------------------------------
# Command N becomes the files N.sh and N.expected. A block such as ```json prompts.jsonl is a file
# that the commands read, and so is the text that the command has for measurements.
rm [0-9]*
cp "$source/src/cli/default_text.txt" story.txt
awk '
  /^```/ {
    if (inside) close(file)
    inside = !inside
    if (!inside) next
    file = "unused"
    if ($2 != "") file = $2
    else if ($1 == "```sh") file = sprintf("%02d.sh", ++commands)
    else if (after_sh && $1 ~ /^```(text|json)$/) file = sprintf("%02d.expected", commands)
    after_sh = $1 == "```sh"
    next
  }
  inside { print >file; next }
  /[^ ]/ { after_sh = 0 }' "$source/src/cli/MANUAL.md" "$source/src/model/WEIGHTS.md"

count=0
for expected in [0-9]*.expected; do
  commands="${expected%.expected}.sh"
  if grep -q '| jq' "$commands" && ! command -v jq >/dev/null; then continue; fi
  bash -eu "$commands" >printed || {
    printf 'recipes_test: these commands end with an error:\n%s\n' "$(<"$commands")" >&2
    exit 1
  }
  diff "$expected" printed || {
    printf 'recipes_test: these commands print something else (>) than the page says (<):\n%s\n' \
      "$(<"$commands")" >&2
    exit 1
  }
  count=$((count + 1))
done
((count >= 6)) || { printf 'recipes_test: ran %d blocks of commands only\n' "$count" >&2; exit 1; }
