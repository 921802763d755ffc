#!/usr/bin/env bash
# Tests that a program which uses LayerNorm alone links nothing else of the library:
#
#   link_test.sh SOURCE_DIR LIBRARY NM CXX ISA...
#
# LIBRARY is the static library, which has kernels for each ISA. The linker may leave out what a
# program does not use, but it keeps whatever a table of functions refers to.
set -euo pipefail

source="$1" library="$2" nm="$3" cxx="$4"
shift 4
isas="$(IFS='|' && printf '%s' "$*")"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  printf 'link_test: %s\n' "$*" >&2
  exit 1
}

# link PROGRAM STATEMENTS: links a program that includes gpt2/PROGRAM.h, and lists its symbols. The
# command names no other library, so the program can need neither utf8proc nor POSIX threads.
link() {
  printf '#include <gpt2/%s.h>\nint main(int argc, char** argv) { %s }\n' "$1" "$2" >"$1.cpp"
  "$cxx" -std=c++20 -O1 -I "$source/include" "$1.cpp" "$library" -Wl,--gc-sections -o "$1"
  "$nm" --demangle "$1" >"$1.symbols"
}

# other_kernels PROGRAM: prints the symbols that are compiled for an instruction set and are none of
# the functions in src/kernels/norm.h.
other_kernels() {
  grep -E "gpt2::($isas)::" "$1.symbols" |
    grep -vE 'gpt2::(layer_norm|layer_norm_rows|measure|measure_deviations|normalize)<|scalar::Isa::fma\(' || true
}

link layer_norm 'gpt2::LayerNorm ln({8});
  ln.weight.data()[0] = static_cast<float>(argc);
  return ln(gpt2::Tensor(gpt2::Shape{2, 8}, 3.0f)).data()[0] > *argv[0];'

for isa in "$@"; do
  grep -q "gpt2::layer_norm<.*gpt2::$isa::" layer_norm.symbols ||
    fail "the program has no kernel of LayerNorm for $isa, or nm does not show it"
done
others="$(other_kernels layer_norm)"
[[ -z "$others" ]] || fail "LayerNorm alone links these kernels, too:"$'\n'"${others:0:2000}"

parts='gpt2::(Model|Config|Engine|Session|Team|Tokenizer|Checkpoint)\b'
others="$(grep -E "$parts|nlohmann|utf8proc|pthread_create" layer_norm.symbols || true)"
[[ -z "$others" ]] || fail "LayerNorm alone links these, too:"$'\n'"${others:0:2000}"

# A sampler uses other kernels, so this shows that the test would find them.
link sampler 'gpt2::Sampler sampler({}, 8);
  const float logits[8] = {static_cast<float>(argc), static_cast<float>(*argv[0])};
  return sampler.sample(logits, {});'
[[ -n "$(other_kernels sampler)" ]] ||
  fail 'the kernels of a sampler are missing, or nm does not show them'
