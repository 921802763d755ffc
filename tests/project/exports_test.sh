#!/usr/bin/env bash
# Tests that the shared library exports the names of its public headers and no others: what lies in
# the namespace gpt2, and the functions gpt2_* of the C interface.
#
#   exports_test.sh TOOL LIBRARY SOURCE_DIR
#
# TOOL is nm or, for a DLL, objdump, because nm does not read the list of a DLL.
set -euo pipefail

tool="$1" library="$2" source="$3"

exports() {
  if [[ "$library" == *.dll ]]; then
    "$tool" -p "$library" | sed -n '/Name Pointer\] Table/,/^$/s/^\t\[ *[0-9]*\] //p' | c++filt
  else
    "$tool" --dynamic --defined-only --demangle "$library" | cut -d ' ' -f 3-
  fi
}

exported="$(exports)"
for name in 'gpt2::Model::load(' 'gpt2::generate(' 'typeinfo for gpt2::Error'; do
  grep -qF "$name" <<<"$exported" || {
    printf '%s does not export %s\n' "$library" "$name" >&2
    exit 1
  }
done
# All functions of the C interface, and nothing else that has such a name.
diff <(grep '^gpt2_' <<<"$exported" | sort) \
  <(sed -n 's/^GPT2_API .*\<\(gpt2_[a-z0-9_]*\)(.*/\1/p' "$source/include/gpt2/gpt2.h" | sort) >&2
# Implementation files declare their functions in the namespace as well; these must be hidden.
for name in 'gpt2::layer_norm_rows(' 'gpt2::concat' 'gpt2::Team::' 'gpt2::NewFile::'; do
  if grep -F "$name" <<<"$exported"; then
    printf '%s should not export these\n' "$library" >&2
    exit 1
  fi
done
if grep -vE '^((typeinfo( name)?|vtable) for )?gpt2(::|_)' <<<"$exported"; then
  printf '%s exports these names, which are not gpt2:: or gpt2_\n' "$library" >&2
  exit 1
fi
