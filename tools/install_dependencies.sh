#!/usr/bin/env bash
# Installs the packages that building and testing need and that are missing, with the package
# manager of the system: apt (Debian, Ubuntu), dnf (Fedora), pacman (Arch), apk (Alpine) or brew
# (macOS). If none is missing, it does and prints nothing. The arguments are the names of further
# packages to install.
set -euo pipefail

say() { printf 'install_dependencies: %s\n' "$*" >&2; }

have() { command -v "$1" >/dev/null 2>&1; }

# The same packages for each manager, in the same order: a compiler with OpenMP, the tools of the
# build, the libraries, and what the tests run. OpenMP's library is a part of g++, but a package of
# its own for clang++. Only apt uses lists that it has to update first.
install=() update=()
if have apt-get && have dpkg-query; then
  packages=(g++ cmake ninja-build pkg-config nlohmann-json3-dev libutf8proc-dev libedit-dev
    libmicrohttpd-dev catch2 curl python3)
  [[ "${CXX:-}" == *clang* ]] && packages+=(libomp-dev)
  install=(env DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes
    --no-install-recommends)
  update=(apt-get update --quiet=2)
  has() {
    [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
  }
elif have dnf; then
  packages=(gcc-c++ cmake ninja-build pkgconf-pkg-config json-devel utf8proc-devel libedit-devel
    libmicrohttpd-devel catch-devel curl python3)
  [[ "${CXX:-}" == *clang* ]] && packages+=(libomp-devel)
  install=(dnf install --quiet --assumeyes)
  has() { rpm --query --quiet --whatprovides "$1"; }
elif have pacman; then
  packages=(gcc cmake ninja pkgconf nlohmann-json libutf8proc libedit libmicrohttpd catch2 curl
    python)
  [[ "${CXX:-}" == *clang* ]] && packages+=(openmp)
  install=(pacman --sync --refresh --needed --noconfirm)
  has() { pacman --query "$1" >/dev/null 2>&1; }
elif have apk; then
  packages=(g++ cmake ninja-build pkgconf nlohmann-json utf8proc-dev libedit-dev libmicrohttpd-dev
    catch2-3 curl python3)
  [[ "${CXX:-}" == *clang* ]] && packages+=(openmp-dev)
  install=(apk add --quiet)
  update=(apk update --quiet)
  has() { apk info --quiet --installed "$1"; }
elif have brew; then
  packages=(cmake ninja pkgconf nlohmann-json utf8proc libmicrohttpd catch2 libomp)
  install=(brew install --quiet)
  has() { brew list "$1" >/dev/null 2>&1; }
else
  missing=()
  for tool in c++ cmake ninja; do have "$tool" || missing+=("$tool"); done
  [[ ${#missing[@]} -eq 0 ]] && exit 0  # CMake names or downloads missing libraries
  say "missing: ${missing[*]}; this script knows apt, dnf, pacman, apk and brew. Install a C++20" \
    "compiler, CMake 3.20 or newer and ninja. With internet access, CMake downloads the libraries"
  exit 1
fi

missing=()
for package in "${packages[@]}" "$@"; do
  # Any C++ compiler will do.
  [[ "$package" =~ ^(g\+\+|gcc|gcc-c\+\+)$ ]] && have c++ && continue
  has "$package" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $EUID -ne 0 && "${install[0]}" != brew ]]; then
  if ! have sudo; then
    say "missing: ${missing[*]}; run as root: ${install[*]} ${missing[*]}"
    exit 1
  fi
  as_root=(sudo)
fi

say "installing ${missing[*]}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
try() { ${as_root[@]+"${as_root[@]}"} "$@" >>"$log" 2>&1; }
# Updates the lists of packages only if the installation fails with the current ones.
try "${install[@]}" "${missing[@]}" && exit 0
if [[ ${#update[@]} -ne 0 ]]; then
  : >"$log"
  try "${update[@]}" && try "${install[@]}" "${missing[@]}" && exit 0
fi
cat "$log" >&2
say "could not install ${missing[*]}"
exit 1
