#!/usr/bin/env bash
# Downloads Debian's arm64 packages of the dependencies and unpacks them into DIR, without
# installing them: tools/aarch64_sysroot.sh DIR
set -euo pipefail

dir="$(realpath -m "$1")"
[[ -f "$dir/complete" ]] && exit
mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/packages"
apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
     -o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir" -o APT::Sandbox::User=root)
"${apt[@]}" update >&2
cd "$dir/packages"
"${apt[@]}" download catch2 nlohmann-json3-dev libutf8proc-dev libutf8proc2 >&2
for package in *.deb; do dpkg -x "$package" "$dir"; done
touch "$dir/complete"
