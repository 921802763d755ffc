#!/usr/bin/env bash
# Tests the man page and the completions of shells: both know the options that --help lists. zsh and
# fish are tested where they are installed.
#
#   shell_test.sh SOURCE_DIR PROGRAM
set -euo pipefail

source="$1" program="$2"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$(realpath "$program")" "$scratch/bin/gpt2"
export PATH="$scratch/bin:$PATH"
failed=0

# check NAME EXPECTED FOUND
check() {
  [[ "$2" == "$3" ]] && return
  printf '%s: expected "%s", found "%s"\n' "$1" "$2" "$3" >&2
  failed=1
}

"$source/tools/man_page.sh" "$scratch/bin/gpt2" >"$scratch/gpt2.1"
commands="$(gpt2 --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')"
for command in $commands; do
  for option in $(gpt2 "$command" --help | grep -oE '^  -[^ ]+' | tr ',' ' '); do
    grep -qF -- "${option//-/\\-}" "$scratch/gpt2.1" || check "man page" "$command $option" "nothing"
  done
done
# The name of an entry is an option and its value, and no part of what it does.
check "man page, names" "" "$(sed -nE 's/^\.B (\\-[^ ]+ [^ ]+ .*)/\1/p' "$scratch/gpt2.1")"
for section in SYNOPSIS DESCRIPTION ENVIRONMENT "EXIT STATUS" EXAMPLES; do
  check "man page, section $section" 1 "$(grep -c "^\.SH $section$" "$scratch/gpt2.1")"
done
check "man page, how to call batch" 1 "$(grep -cF '.B gpt2 batch [OPTIONS] IN' "$scratch/gpt2.1")"
check "man page, exit status 3" ".B 3" "$(grep -A1 '^\.TP$' "$scratch/gpt2.1" | grep -x '\.B 3')"
if command -v groff >/dev/null; then
  check "groff's warnings" "" "$(groff -man -ww -z "$scratch/gpt2.1" 2>&1)"
fi

# in_bash WORD...: what the bash completion offers for the last word.
in_bash() {
  bash -c 'source "$1"; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _gpt2 gpt2 "${@: -1}" "${@: -2:1}"
    printf "%s" "${COMPREPLY[*]-}"' bash "$source/tools/completions/gpt2.bash" gpt2 "$@"
}
check "bash, a command" "bench" "$(in_bash be)"
check "bash, an option" "--draft" "$(in_bash --dra)"
check "bash, an option of a command" "--repetitions" "$(in_bash bench --rep)"
check "bash, an option after a prompt" "--greedy" "$(in_bash "Once upon" --gree)"
check "bash, a short option" "-t" "$(in_bash bench -t)"
check "bash, a value" "text json" "$(in_bash generate --format "")"
check "bash, a value of an option with a long list" "auto" "$(in_bash --draft au)"
check "bash, values but no placeholder" "" "$(in_bash --draft MOD)"
check "bash, a weight type" "int8 int4" "$(in_bash bench --dtype int)"
check "bash, no value" "" "$(in_bash -m "nothing" "")"
mkdir -p "$scratch/models/tiny-one" "$scratch/hub/models--owner--tiny-two" \
  "$scratch/xdg/huggingface/hub/models--owner--tiny-two"
in_models() { GPT2_MODELS="$scratch/models" HF_HUB_CACHE="$scratch/hub" in_bash "$@"; }
check "bash, a model's name" "tiny-one" "$(in_models -m ti)"
check "bash, a model of the cache" "owner/tiny-two" "$(in_models bench --model own)"
# The program is a link to one in build/PRESET of the source tree, where the bundled model is found.
check "bash, the bundled model" "gpt2-stories" "$(in_models -m gpt2-st)"
check "bash, a model of the cache of XDG" "owner/tiny-two" \
  "$(XDG_CACHE_HOME="$scratch/xdg" in_bash -m own)"
check "bash, a model's path" "$scratch/models/tiny-one" "$(in_models -m "$scratch/models/ti")"

if command -v fish >/dev/null; then
  in_fish() {
    HOME="$scratch" fish --no-config -c "source '$source/tools/completions/gpt2.fish'
      complete -C '$1'" | cut -f1
  }
  check "fish, a command" "bench" "$(in_fish 'gpt2 benc')"
  check "fish, an option" "--draft" "$(in_fish 'gpt2 --dra')"
  check "fish, an option of a command" "--repetitions" "$(in_fish 'gpt2 bench --rep')"
  check "fish, a value" "int4 int8" "$(in_fish 'gpt2 bench --dtype int' | xargs)"
  check "fish, the bundled model" "gpt2-stories" "$(in_fish 'gpt2 -m gpt2-st')"
fi
if command -v zsh >/dev/null; then
  check "zsh's syntax" "" "$(zsh -n "$source/tools/completions/_gpt2" 2>&1)"
fi
exit "$failed"
