#!/usr/bin/env bash
# Makes the .zip for 64-bit Windows, in build/, and prints its path: tools/zip.sh
#
# It contains what cmake --install would install: the command with the bundled model, gpt2.dll, and
# what programs need that use the library. They are compiled on a Debian machine, and need nothing but
# Windows. If SOURCE_DATE_EPOCH is set, two runs make the same bytes.
set -euo pipefail

if [[ $# -gt 0 ]]; then
  printf 'zip: it takes no arguments: tools/zip.sh\n' >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh" g++-mingw-w64-x86-64-posix
"$root/tools/source_sysroot.sh" "$root/build/windows-sysroot" \
  x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-ar
"$root/tools/build.sh" windows gpt2_cli gpt2_shared

printf 'zip: packing\n' >&2
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
version="$(sed -n 's/.*GPT2_VERSION_STRING "\(.*\)".*/\1/p' "$root/include/gpt2/version.h")"
name="gpt2-$version-windows-x86_64"
umask 022
cmake --install "$root/build/windows" --strip --prefix "$work/$name" >"$work/log" || {
  cat "$work/log" >&2
  exit 1
}
cd "$work"
find "$name" -exec touch --date="@${SOURCE_DATE_EPOCH:-$(date +%s)}" {} +
rm -f "$root/build/$name.zip"
TZ=UTC python3 -m zipfile -c "$root/build/$name.zip" "$name"
printf '%s\n' "$root/build/$name.zip"
