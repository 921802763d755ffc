#!/usr/bin/env bash
# Tests the man pages and the completions of shells: both know the options that --help lists. The
# completions run in bash, and in zsh and fish where these are installed.
#
#   shell_test.sh SOURCE_DIR PROGRAM
set -euo pipefail

source="$(realpath "$1")" program="$2"
source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$source"
# The program lies in build/PRESET of a source tree, where it finds the bundled model.
mkdir -p "$scratch/tree/build/dev"
cp "$program" "$scratch/tree/build/dev/gpt2"
ln -s "$source/models" "$scratch/tree/models"
export PATH="$scratch/tree/build/dev:$PATH"
failed=0

# check NAME EXPECTED FOUND
check() {
  [[ "$2" == "$3" ]] && return
  printf '%s: expected "%s", found "%s"\n' "$1" "$2" "$3" >&2
  failed=1
}

# -- The man pages ---------------------------------------------------------------------------------

pages="$scratch/man"
"$source/tools/man_pages.sh" gpt2 "$pages"
commands="$(gpt2 --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')"
for command in $commands; do
  page="$pages/gpt2-$command.1"
  for option in $(gpt2 "$command" --help-all | grep -oE '^  -[^ ]+' | tr ',' ' '); do
    grep -qF -- "${option//-/\\-}" "$page" || check "man page" "$command $option" "nothing"
  done
done
if command -v groff >/dev/null; then
  for page in "$pages"/*; do
    check "groff's warnings about ${page##*/}" "" "$(groff -man -ww -z "$page" 2>&1)"
  done
fi

# -- The completions -------------------------------------------------------------------------------

# in_SHELL LINE: what the completion of the shell offers for the last word of the line.
in_bash() {
  bash -c 'source "$1"
    eval "COMP_WORDS=($2)"
    [[ "$2" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _gpt2 gpt2 "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$source/tools/completions/gpt2.bash" "$1"
}
in_fish() {
  fish --no-config -c "source '$source/tools/completions/gpt2.fish'; complete -C '$1'" | cut -f1
}
in_zsh() { "$source/tests/project/complete.zsh" "$source/tools/completions" "$1"; }

# offers NAME LINE EXPECTED: checks what the shell offers, in any order.
offers() { check "$shell, $1" "$3" "$("in_$shell" "$2" | sort -u | xargs)"; }

# There are no files that a shell could offer.
mkdir "$scratch/empty"
for place in models/tiny-one \
  {hub/models--owner--tiny-two,xdg/huggingface/hub/models--owner--tiny-three}/snapshots/main; do
  mkdir -p "$scratch/$place"
  touch "$scratch/$place/config.json"
done
export HOME="$scratch/empty"
cd "$HOME"
for shell in bash fish zsh; do
  command -v "$shell" >/dev/null || continue
  offers "a command" 'gpt2 be' bench
  offers "an option" 'gpt2 --dra' --draft
  offers "an option after a prompt" 'gpt2 "Once upon" --gree' --greedy
  offers "a value" 'gpt2 embed --pooling ' "last mean"
  offers "values but no placeholder" 'gpt2 --draft MOD' ""
  offers "a weight type" 'gpt2 bench --dtype int' "int4 int8"
  offers "no value" 'gpt2 -m nothing ' ""
  offers "the bundled model" 'gpt2 -m gpt2-st' gpt2-stories
  GPT2_MODELS="$scratch/models" offers "a model's name" 'gpt2 -m ti' tiny-one
  HF_HUB_CACHE="$scratch/hub" offers "a model of the cache" 'gpt2 bench --model own' owner/tiny-two
  XDG_CACHE_HOME="$scratch/xdg" offers "a model of the cache of XDG" 'gpt2 -m own' owner/tiny-three
done
shell=bash
offers "a short option" 'gpt2 bench -t' -t
offers "a model's path" "gpt2 -m $scratch/models/ti" "$scratch/models/tiny-one"
exit "$failed"
