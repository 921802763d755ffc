#!/usr/bin/env bash
# Makes the packages of a release, in build/.
#
#   tools/package.sh [deb | tgz]
#
#   deb   gpt2_VERSION_ARCH.deb, which uses the libraries of this system
#   tgz   gpt2-VERSION-linux-ARCH.tar.gz, which needs no libraries but those that every system has,
#         because it contains OpenMP's; prints the oldest version of glibc that suffices
#
# Without an argument it makes both.
set -euo pipefail

if [[ "${1:-}" == --help || "${1:-}" == -h ]]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
kinds=("${@:-deb tgz}")
"$root/tools/install_dependencies.sh" dpkg-dev file patchelf

# package KIND CONFIGURE_OPTION...
package() {
  local kind="$1" build="$root/build/package-$1"
  shift
  local launcher=()
  command -v ccache >/dev/null 2>&1 && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGPT2_BUILD_TESTS=OFF \
    "${launcher[@]}" "$@" >/dev/null
  cmake --build "$build" >&2
  (cd "$root/build" && cpack --config "$build/CPackConfig.cmake" -G "${kind^^}" >/dev/null)
}

for kind in ${kinds[*]}; do
  case "$kind" in
    deb) package deb -DCMAKE_INSTALL_PREFIX=/usr ;;
    tgz)
      # Links everything statically except glibc and libgcc_s, which every system has. Builds
      # without libedit, which would add a dependency on a terminal library, so gpt2 --interactive
      # reads plain lines. Removes unused sections, because a part of libstdc++ that is never called
      # needs a newer glibc. OpenMP's library cannot be linked statically into a shared one. The
      # copy in the package has a name of its own. Otherwise, a program would use the copy for its
      # other libraries as well, which may need a newer one.
      flags="-static-libstdc++ -Wl,--gc-sections"
      utf8proc="$("${CXX:-c++}" -print-file-name=libutf8proc.a)"
      openmp="$root/build/libgomp-gpt2.so.1"
      cp "$("${CXX:-c++}" -print-file-name=libgomp.so.1)" "$openmp"
      patchelf --set-soname "${openmp##*/}" "$openmp"
      package tgz -DOpenMP_gomp_LIBRARY="$openmp" -DGPT2_BUNDLED_LIBRARIES="$openmp" -DUTF8PROC_LIBRARY="$utf8proc" -DLIBEDIT_LIBRARY=OFF \
        "-DCMAKE_EXE_LINKER_FLAGS=$flags" "-DCMAKE_SHARED_LINKER_FLAGS=$flags"
      objdump -T "$root/build/package-tgz/gpt2" "$root"/build/package-tgz/libgpt2.so "$openmp" |
        grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1
      ;;
    *)
      printf 'package: expected deb or tgz, found "%s"; see tools/package.sh --help\n' "$kind" >&2
      exit 2
      ;;
  esac
done
