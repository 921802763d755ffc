#!/usr/bin/env bash
# Makes the npm package, in build/, and prints its path: tools/npm.sh
#
# It has the module, its types and a README, and runs nothing when it is installed. If
# SOURCE_DATE_EPOCH is set, two runs make the same bytes.
set -euo pipefail

if [[ $# -gt 0 ]]; then
  printf 'npm: it takes no arguments: tools/npm.sh\n' >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/web.sh" >/dev/null
version="$(sed -n 's/.*GPT2_VERSION_STRING "\(.*\)".*/\1/p' "$root/include/gpt2/version.h")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
umask 022
mkdir "$work/package"
cp "$root"/src/web/npm/* "$root"/build/site/*.{wasm,mjs} "$root/LICENSE" "$work/package"
for library in libutf8proc-dev nlohmann-json3-dev; do
  cp "$root/build/web-sysroot/usr/share/doc/$library/copyright" "$work/package/LICENSE-$library"
done
sed -i "s/@VERSION@/$version/" "$work/package/package.json"
chmod 644 "$work/package/"*
tar --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" -C "$work" -cf - package |
  gzip -9n >"$root/build/gpt2-cpp-$version.tgz"
printf '%s\n' "$root/build/gpt2-cpp-$version.tgz"
