#!/usr/bin/env bash
# Makes the packages of a release, in build/, and prints their paths.
#
#   tools/package.sh [deb | tgz]
#
#   deb   gpt2_VERSION_ARCH.deb, which uses the libraries of this system
#   tgz   gpt2-VERSION-linux-ARCH.tar.gz, which needs no libraries but those that every system has,
#         because it contains OpenMP's; says which version of glibc is the oldest that suffices
#
# Without an argument it makes both. They are made in build/release, so that everything that
# tools/run.sh has compiled is used.
set -euo pipefail

if [[ "${1:-}" == --help || "${1:-}" == -h ]]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
kinds=("$@")
[[ $# -gt 0 ]] || kinds=(deb tgz)
targets=(gpt2 gpt2_man_pages)
for kind in "${kinds[@]}"; do
  case "$kind" in
    deb) targets+=(gpt2_cli gpt2_shared) ;;
    tgz) targets+=(gpt2_portable) ;;
    *)
      printf 'package: expected deb or tgz, found "%s"; see tools/package.sh --help\n' "$kind" >&2
      exit 2
      ;;
  esac
done

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh" dpkg-dev file patchelf
"$root/tools/build.sh" release "${targets[@]}"

release="$root/build/release"
for kind in "${kinds[@]}"; do
  printf 'package: packing the %s\n' "$kind" >&2
  log="$(cpack --config "$release/CPackConfig.cmake" -B "$root/build" -G "${kind^^}" 2>&1)" || {
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
