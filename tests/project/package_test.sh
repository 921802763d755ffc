#!/usr/bin/env bash
# Tests the packages that CPack makes of a build: what they contain, that the .deb can be installed
# into a directory of its own, used there and removed without a trace, and that the .tar.gz works
# wherever it is unpacked and needs nothing but glibc. The .tar.gz is left out if there is no
# patchelf, or if the build cannot make it (see tools/cmake/portable.cmake).
#
#   package_test.sh BUILD_DIR
set -euo pipefail

source="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)" build="$1"
for tool in dpkg dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || {
    printf 'skipped: there is no %s\n' "$tool" >&2
    exit 4
  }
done
source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$source"

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

# writes PREFIX: fails unless the command there writes text with the model that lies beside it.
writes() {
  local text
  text="$(cd / && LD_LIBRARY_PATH='' "$1/bin/gpt2" --greedy -n 4 'Once upon')"
  [[ "$text" == 'Once upon a time'* ]] || fail "$1/bin/gpt2 wrote \"$text\""
  for file in libgpt2.a include/gpt2/generate.h 'share/man/man1/gpt2-batch.1*'; do
    [[ -n "$(find "$1" -path "*/$file")" ]] || fail "$1 has no $file"
  done
}

# pack KIND: makes a package in the working directory. gzip is faster than the default.
pack() {
  cpack --config "$build/CPackConfig.cmake" -G "$1" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip \
    >log 2>&1 || fail "$(<log)"
}

# -- The .tar.gz -----------------------------------------------------------------------------------

if [[ -d "$build/portable" ]] && command -v patchelf >/dev/null; then
  cmake --build "$build" --target gpt2_portable >log 2>&1 || fail "$(<log)"
  pack TGZ
  tar xzf ./*.tar.gz
  prefix="$(echo "$PWD"/gpt2-*/)"
  writes "$prefix"
  needed="$(readelf -d "$prefix"/bin/gpt2 "$prefix"/lib/lib*.so.* |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^((libc|libm|libgcc_s|ld-linux.*)\.so\.[0-9]+|libgomp-gpt2\.so\.1)$' || true)"
  [[ -z "$needed" ]] || fail "the .tar.gz needs $needed"
  grep -q 'GCC Runtime Library Exception' "$prefix/share/doc/gpt2/licenses/THIRD_PARTY" ||
    fail "the .tar.gz does not name the licence of libgomp"
fi

# -- The .deb --------------------------------------------------------------------------------------

pack DEB
deb="$(echo ./*.deb)"

# dpkg installs into a directory that has a database of its own, whoever runs it. The package's
# scripts find an ldconfig that does nothing, because the real one would work on this system.
mkdir bin
printf '#!/bin/sh\n' >bin/ldconfig
chmod +x bin/ldconfig
PATH="$PWD/bin:$PATH"
mkdir -p root/var/lib/dpkg/{info,updates,triggers} root/tmp
: >root/var/lib/dpkg/status
: >root/var/lib/dpkg/available
dpkg_there() {
  dpkg --root="$PWD/root" --force-not-root --force-depends --force-script-chrootless \
    --log="$PWD/dpkg.log" "$@" >log 2>&1 || fail "$(<log)"
}
dpkg_there --install "$deb"
writes "$PWD/root/usr"
[[ -f root/usr/share/zsh/vendor-completions/_gpt2 ]] || fail "zsh does not find the completion"
docs="$PWD/root/usr/share/doc/gpt2"
grep -q 'Permission is hereby granted' "$docs/copyright" || fail "the .deb has no copyright"
gzip -dc "$docs/changelog.gz" | cmp - "$source/CHANGELOG.md" || fail "the .deb has no changelog"
depends="$(dpkg-deb --field "$deb" Depends)"
for package in libc6 libgomp1 libstdc++6 libutf8proc; do
  [[ "$depends" == *"$package"* ]] || fail "the .deb does not depend on $package: $depends"
done
dpkg_there --purge gpt2
left="$(find root -path root/var -prune -o -type f -print)"
[[ -z "$left" ]] || fail "left behind after the removal: $left"
