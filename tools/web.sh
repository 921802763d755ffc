#!/usr/bin/env bash
# Makes the site that writes in the browser, in build/site/, and prints its path: tools/web.sh
#
# Any server of files can serve it, below any path. To try it: python3 -m http.server -d build/site
set -euo pipefail

if [[ $# -gt 0 ]]; then
  printf 'web: it takes no arguments: tools/web.sh\n' >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh" emscripten node-acorn
"$root/tools/source_sysroot.sh" "$root/build/web-sysroot" emcc emar
export NODE_PATH=/usr/share/nodejs  # where emscripten's optimizer looks for acorn
"$root/tools/build.sh" web gpt2_web_wasm gpt2_web_wasm_relaxed

site="$root/build/site"
rm -rf "$site"
mkdir -p "$site/models"
cp "$root"/build/web/{index.html,wasm/gpt2.wasm,wasm_relaxed/gpt2_relaxed.wasm} \
  "$root"/src/web/*.mjs "$site"
cp -r "$root/models/gpt2-stories" "$site/models"
printf '%s\n' "$site"
