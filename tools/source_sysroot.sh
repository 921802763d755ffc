#!/usr/bin/env bash
# Makes DIR with the dependencies for a system of which Debian has none, with its compiler and its
# archiver: tools/source_sysroot.sh DIR CC AR. Those that are headers alone come from Debian's
# packages; utf8proc is compiled from Debian's source package.
set -euo pipefail

dir="$(realpath -m "$1")"
[[ -f "$dir/complete" ]] && exit
mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/packages"
cd "$dir/packages"

# The system's own lists rarely name the sources.
sed -n 's/^deb /deb-src /p' /etc/apt/sources.list 2>/dev/null >"$dir/source.list" || true
mkdir -p "$dir/sources.list.d"
for file in /etc/apt/sources.list.d/*.sources; do
  [[ -f "$file" ]] && sed 's/^Types: .*/Types: deb deb-src/' "$file" >"$dir/sources.list.d/${file##*/}"
done
apt=(apt-get -qq -o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir"
     -o "Dir::Etc::SourceList=$dir/source.list" -o "Dir::Etc::SourceParts=$dir/sources.list.d"
     -o APT::Sandbox::User=root)
"${apt[@]}" update >&2
"${apt[@]}" download catch2 nlohmann-json3-dev >&2
"${apt[@]}" source --download-only utf8proc >&2

for package in *.deb; do dpkg -x "$package" "$dir"; done
tar -xf utf8proc_*.orig.tar.*
cd utf8proc-*/
"$2" -O2 -DUTF8PROC_STATIC -c utf8proc.c -o utf8proc.o
"$3" rcs "$dir/usr/lib/libutf8proc.a" utf8proc.o
mkdir -p "$dir/usr/share/doc/libutf8proc-dev"
cp LICENSE.md "$dir/usr/share/doc/libutf8proc-dev/copyright"
# The header of a static library must not declare that the functions are in a DLL.
{ echo '#define UTF8PROC_STATIC'; cat utf8proc.h; } >"$dir/usr/include/utf8proc.h"
touch "$dir/complete"
