#!/usr/bin/env bash
# Makes the packages of a release, in build/, and prints their paths.
#
#   tools/package.sh [deb | tgz | static | static-aarch64]...
#
#   deb     gpt2_VERSION_ARCH.deb, which uses the libraries of this system
#   tgz     gpt2-VERSION-linux-ARCH.tar.gz, which needs no libraries but those that every system
#           has, because it contains OpenMP's; says which version of glibc is the oldest that suffices
#   static  gpt2-VERSION-linux-ARCH, the command as one file that needs no library at all and
#           contains the bundled model, but not the server
#   static-aarch64  the same for 64-bit Arm, compiled anew on a Debian machine
#
# Without an argument it makes the first two. All but the last one are made in build/release, so that
# everything that tools/run.sh has compiled is used.
set -euo pipefail

if [[ "${1:-}" == --help || "${1:-}" == -h ]]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
kinds=("$@")
[[ $# -gt 0 ]] || kinds=(deb tgz)
targets=(gpt2 gpt2_man_pages)
cpack=() statics=()
for kind in "${kinds[@]}"; do
  case "$kind" in
    deb) targets+=(gpt2_cli gpt2_shared) && cpack+=(DEB) ;;
    tgz) targets+=(gpt2_portable) && cpack+=(TGZ) ;;
    static) targets+=(gpt2_static_cli) && statics+=("$(uname -m)") ;;
    static-aarch64) statics+=(aarch64) ;;
    *)
      printf 'package: expected deb, tgz, static or static-aarch64, found "%s"; see %s --help\n' \
        "$kind" tools/package.sh >&2
      exit 2
      ;;
  esac
done

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh" dpkg-dev file patchelf
"$root/tools/build.sh" release "${targets[@]}"

# libraries_in DIRECTORY: says where the libraries are installed, below the prefix.
release="$root/build/release"
libraries_in() { cmake -DCMAKE_INSTALL_LIBDIR="$1" "$release" >/dev/null; }
trap 'libraries_in lib' EXIT
for kind in "${cpack[@]}"; do
  printf 'package: packing the %s\n' "${kind,,}" >&2
  libraries_in lib
  [[ "$kind" != DEB ]] || libraries_in "lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)"
  log="$(cpack --config "$release/CPackConfig.cmake" -B "$root/build" -G "$kind" 2>&1)" || {
    printf '%s\n' "$log" >&2
    exit 1
  }
  sed -n 's/^CPack: - package: \(.*\) generated\.$/\1/p' <<<"$log"
done
if [[ " ${kinds[*]} " == *' tgz '* ]]; then
  glibc="$(objdump -T "$release"/portable/{bin/gpt2,lib/libgpt2.so,lib/libgomp-gpt2.so.1} |
    grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)"
  printf 'package: the .tar.gz needs glibc %s or newer\n' "${glibc#GLIBC_}" >&2
fi

version="$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$release/CMakeCache.txt")"
for arch in "${statics[@]}"; do
  strip=strip
  if [[ "$arch" != "$(uname -m)" ]]; then
    strip="$arch-linux-gnu-strip"
    "$root/tools/install_dependencies.sh" "g++-$arch-linux-gnu"
    "$root/tools/aarch64_sysroot.sh" "$root/build/aarch64-sysroot"
    "$root/tools/build.sh" aarch64-static gpt2_static_cli
    built="$root/build/aarch64-static/static/gpt2"
  else
    built="$release/static/gpt2"
  fi
  "$strip" -o "$root/build/gpt2-$version-linux-$arch" "$built"
  printf '%s\n' "$root/build/gpt2-$version-linux-$arch"
done
