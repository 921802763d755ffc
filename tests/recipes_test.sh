#!/usr/bin/env bash
# Tests the programs in include/README.md: each is built with the shared library and run, and must
# print the text that follows it. The commands that follow some of the texts must print the same.
#
#   recipes_test.sh SOURCE_DIR SHARED_LIBRARY COMMAND CXX CC PYTHON
#
# The environment must lead PYTHON to the package and to SHARED_LIBRARY.
set -euo pipefail

source="$1" library="$2" command="$3" cxx="$4" cc="$5" python="$6"

source "$(dirname "${BASH_SOURCE[0]}")/support/scratch.sh" "$source/models/gpt2-stories"
ln -s "$source/models" models
export PATH="${command%/*}:$PATH"

# Recipe N becomes the files N.title, N.cpp (or N.c or N.python), N.text and N.sh.
awk '
  /^## / { title = substr($0, 4) }
  /^```/ {
    if (inside) close(file)
    inside = !inside
    if (!inside) next
    language = substr($0, 4)
    if (language ~ /^(cpp|c|python)$/) {
      number = sprintf("%02d", ++programs)
      print title >(number ".title")
    }
    file = number "." language
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
  [[ -s "$number.text" ]] || fail 'says nothing about what it prints'
  build "$program" || fail 'does not compile'
  LD_LIBRARY_PATH="${library%/*}" ./program >printed || fail 'ends with an error'
  diff "$number.text" printed || fail 'prints something else (>) than the page says (<)'
  if [[ -f "$number.sh" ]]; then
    bash -eu "$number.sh" >printed || fail 'has commands that end with an error'
    diff "$number.text" printed ||
      fail 'has commands that print something else (>) than the program (<)'
  fi
  count=$((count + 1))
done
((count >= 16)) || { printf 'recipes_test: found %d recipes only\n' "$count" >&2; exit 1; }
