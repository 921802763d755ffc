#!/usr/bin/env bash
# Tests the architecture: layers_test.sh SOURCE_DIR
#
#   - an #include leads to the same layer or to one below it;
#   - the files compiled for one instruction set include nothing but kernels;
#   - threads are started in one file;
#   - every folder of src has a README;
#   - no file is too long to be read in one go.
#
# It also adds a violation of each kind to a copy of the tree, and fails unless each of them is
# found.
set -euo pipefail

max_file_lines=300

# The layers that each layer may include. Every folder of src/ must be listed.
layers='
  base:
  tensor:   base
  kernels:  base
  formats:  tensor base
  text:     tensor base
  model:    formats kernels tensor base
  generate: model text formats kernels tensor base
  cli:      generate model text formats kernels tensor base
'

# The layer that each public header belongs to. Every file of include/gpt2/ must be listed.
headers='
  error:base runtime:base
  dtype:tensor tensor:tensor config:tensor
  tokenizer:text
  layer_norm:model model:model engine:model session:model
  sampler:generate generate:generate
'

# Prints every violation in the tree at $1, one a line.
violations() (
  cd "$1"

  grep -rHn --include='*.h' --include='*.cpp' -E '^ *# *include *"' include src |
    awk -F: -v layers="$layers" -v headers="$headers" '
      BEGIN {
        count = split(layers, line, "\n")
        for (i = 1; i <= count; i++) {
          if (split(line[i], part, ":") < 2) continue
          gsub(/ /, "", part[1])
          known[part[1]] = 1
          allowed[part[1], part[1]] = 1
          below = split(part[2], name, " ")
          for (j = 1; j <= below; j++) allowed[part[1], name[j]] = 1
        }
        count = split(headers, entry, " ")
        for (i = 1; i <= count; i++) {
          split(entry[i], part, ":")
          layer_of_header["gpt2/" part[1] ".h"] = part[2]
        }
      }
      function layer_of(path) {
        if (path ~ /^gpt2\//) return layer_of_header[path]
        return known[substr(path, 1, index(path, "/") - 1)] ? substr(path, 1, index(path, "/") - 1) : ""
      }
      {
        split($0, quoted, "\"")
        from = $1
        sub(/^(include|src)\//, "", from)
        if (layer_of(from) == "") print $1 ": belongs to no known layer"
        else if (layer_of(quoted[2]) == "") print $1 ":" $2 ": includes " quoted[2] ", which belongs to no known layer"
        else if (!((layer_of(from), layer_of(quoted[2])) in allowed))
          print $1 ":" $2 ": " layer_of(from) " must not include " quoted[2]
      }'

  # The code that is compiled for one instruction set is everything that the kernel tables reach.
  for file in src/kernels/*.h src/kernels/kernels_*.cpp; do
    [[ "$file" == src/kernels/pack.h ]] && continue
    grep -Hn -E '^ *# *include' "$file" |
      grep -v -E '<(cstddef|cstdint|immintrin\.h|arm_neon\.h)>|"kernels/' |
      sed 's/$/: kernels include nothing but kernels/' || true
  done

  grep -rHn -E 'std::(j?thread|async)\b|# *pragma +omp|pthread_create' include src |
    grep -v -E '^src/base/team\.(h|cpp):|hardware_concurrency' |
    sed 's/$/: threads belong in src\/base\/team.cpp/' || true

  for folder in src/*/; do
    [[ -f "$folder/README.md" ]] || printf '%s: no README.md\n' "${folder%/}"
  done

  find include src -type f -exec awk -v max="$max_file_lines" '
    END { if (FNR > max) print FILENAME ": " FNR " lines, at most " max }' {} \;
)

fail() {
  printf 'layers_test: %s\n' "$*" >&2
  exit 1
}

# plant EXPECTED FILE LINE...: adds the lines to FILE in a copy of the tree, and fails unless
# `violations` prints EXPECTED.
plant() {
  local expected="$1" file="$2"
  shift 2
  local copy="$scratch/copy"
  rm -rf "$copy"
  mkdir "$copy"
  cp -r "$source/include" "$source/src" "$copy"
  printf '%s\n' "$@" >>"$copy/$file"
  [[ "$(violations "$copy")" == *"$expected"* ]] || fail "did not find: $expected"
}

source="$(cd "$1" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

plant 'base must not include tensor/matrix.h' src/base/team.h '#include "tensor/matrix.h"'
plant 'text must not include formats/checkpoint.h' src/text/bpe.h '#include "formats/checkpoint.h"'
plant 'model must not include generate/philox.h' src/model/block.h '#include "generate/philox.h"'
plant 'text must not include gpt2/session.h' include/gpt2/tokenizer.h '#include "gpt2/session.h"'
plant 'which belongs to no known layer' src/model/block.h '#include "attic/block.h"'
plant 'kernels include nothing but kernels' src/kernels/layer_norm.h '#include <vector>'
plant 'threads belong in' src/model/attention.cpp 'std::thread helper;'
mapfile -t many < <(seq "$max_file_lines")
plant 'src/model/attention.cpp: ' src/model/attention.cpp "${many[@]}"

rm "$scratch/copy/src/text/README.md"
[[ "$(violations "$scratch/copy")" == *"src/text: no README.md"* ]] || fail "did not find a missing README"

found="$(violations "$source")"
[[ -z "$found" ]] || fail $'\n'"$found"
