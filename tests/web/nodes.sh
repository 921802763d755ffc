#!/usr/bin/env bash
# Tests the modules in Node 20, 22 and 24, which npm installs in build/:
# nodes.sh SITE WASM RELAXED
#
# Node 20 has relaxed SIMD with a flag. Its test runs once without it.
set -euo pipefail

site="$1" wasm="$2" relaxed="$3"
shift 3
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
nodes="$here/../../build/nodes"
system="$(node --print 'process.platform + "-" + process.arch')"
if [[ ! -d "$nodes/node_modules" ]]; then
  versions=()
  for version in 20 22 24; do versions+=("node$version@npm:node-$system@$version"); done
  npm install --prefix "$nodes" --silent --no-audit --no-fund "${versions[@]}"
fi

run() {
  local node="$nodes/node_modules/node$1/bin/node"
  shift
  "$node" "$@"
}
bits=(--test-name-pattern=bits "$here/node_test.mjs")
flag=--experimental-wasm-relaxed-simd
run 20 --expose-gc "$here/node_test.mjs" "$site" "$@"
run 20 "$flag" "${bits[@]}" "$relaxed"
run 22 --expose-gc "$here/node_test.mjs" "$site" "$@"
run 22 "$here/files_test.mjs" "$site"
run 24 "${bits[@]}" "$wasm"
run 24 "${bits[@]}" "$relaxed"
