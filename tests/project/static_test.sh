#!/usr/bin/env bash
# Tests the static command in a directory that has nothing but this file, as its root: it must write
# the text and the bits of the usual command with the bundled model, which is inside it.
#
#   static_test.sh BUILD_DIR MODEL
set -euo pipefail

build="$1" model="$2"
source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$model"

# Whoever is not root becomes it in a namespace of their own, if the system allows that.
enter=(chroot)
[[ $EUID -eq 0 ]] || enter=(unshare --user --map-root-user chroot)
"${enter[@]}" / true 2>/dev/null || {
  printf 'skipped: this user may not change the root directory\n' >&2
  exit 4
}

cmake --build "$build" --target gpt2_static_cli >log 2>&1 || { cat log >&2; exit 1; }
mkdir empty
cp "$build/static/gpt2" empty/
inside() { "${enter[@]}" empty /gpt2 "$@"; }
for options in "--greedy" "--seed 7 --temperature 0.8" "--dtype int8 --greedy --threads 1"; do
  arguments=(--json --stats --max-new-tokens 40 $options "Once upon a time")
  "$build/gpt2" -m "$model" "${arguments[@]}" >expected
  inside "${arguments[@]}" >actual
  for file in expected actual; do
    [[ "$(<$file)" == *'"logits_hash"'* ]]
    sed -E 's/"[a-z_]*(seconds|per_second)": ?[^,}]*//g; s/"model": ?"[^"]*"//' $file >$file.bits
  done
  diff expected.bits actual.bits
done
inside info -m gpt2-stories >/dev/null
[[ "$(inside tokenize Once -m /proc/self/exe/gpt2-stories)" == "$("$build/gpt2" tokenize Once)" ]]
inside quantize gpt2-stories /int8 2>log
for file in "$model"/{vocab.json,merges.txt,*config.json}; do
  [[ "$file" == */config.json ]] || cmp "$file" "empty/int8/${file##*/}"
done
inside --quiet -m /int8 -n 2 x >/dev/null
if inside serve 2>errors; then exit 1; fi
[[ "$(<errors)" == *'no server'*'.deb'* ]]
