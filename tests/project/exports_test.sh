#!/usr/bin/env bash
# Tests that the shared library exports the names of its public headers and no others: what lies in
# the namespace gpt2, and the functions gpt2_* of the C interface.
#
#   exports_test.sh NM LIBRARY
set -euo pipefail

exported="$("$1" --dynamic --defined-only --demangle "$2" | cut -d ' ' -f 3-)"
for name in 'gpt2::Model::load(' 'gpt2::generate(' 'typeinfo for gpt2::Error'; do
  grep -qF "$name" <<<"$exported" || {
    printf '%s does not export %s\n' "$2" "$name" >&2
    exit 1
  }
done
# Implementation files declare their functions in the namespace as well; these must be hidden.
for name in 'gpt2::layer_norm_rows(' 'gpt2::concat' 'gpt2::Team::'; do
  if grep -F "$name" <<<"$exported"; then
    printf '%s should not export these\n' "$2" >&2
    exit 1
  fi
done
if grep -vE '^((typeinfo( name)?|vtable) for )?gpt2(::|_)' <<<"$exported"; then
  printf '%s exports these names, which are not gpt2:: or gpt2_\n' "$2" >&2
  exit 1
fi
