#!/usr/bin/env bash
# Installs the packages that building and testing need and that are missing. If none is missing, it
# does and prints nothing. It works on Debian and Ubuntu; on other systems it prints what to
# install. The arguments are the names of further packages to install.
set -euo pipefail

packages=(cmake ninja-build pkg-config nlohmann-json3-dev libutf8proc-dev libedit-dev
  libmicrohttpd-dev catch2 curl python3 "$@")

# OpenMP's library is a part of g++, but a package of its own for clang++.
[[ "${CXX:-}" == *clang* ]] && packages+=(libomp-dev)

say() { printf 'install_dependencies: %s\n' "$*" >&2; }

have() { command -v "$1" >/dev/null 2>&1; }

installed() {
  [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

if ! have apt-get || ! have dpkg-query; then
  missing=()
  for tool in c++ cmake ninja; do have "$tool" || missing+=("$tool"); done
  [[ ${#missing[@]} -eq 0 ]] && exit 0  # CMake names or downloads missing libraries
  say "missing: ${missing[*]}; this script supports only Debian and Ubuntu. Install a C++20" \
    "compiler, CMake 3.20 or newer and ninja. With internet access, CMake downloads the libraries"
  exit 1
fi

missing=()
have c++ || missing+=(g++)
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! have sudo; then
    say "missing: ${missing[*]}; run as root: apt-get install ${missing[*]}"
    exit 1
  fi
  as_root=(sudo)
fi

install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}"
}

say "installing ${missing[*]}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
# Updates the package lists only if the installation fails with the current ones.
if ! install >"$log" 2>&1 &&
  ! { "${as_root[@]}" apt-get update --quiet=2 && install; } >"$log" 2>&1; then
  cat "$log" >&2
  say "could not install ${missing[*]}"
  exit 1
fi
