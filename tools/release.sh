#!/usr/bin/env bash
# Makes the files of a release from a tag, in build/TAG, and prints their paths:
#
#   tools/release.sh TAG
#
# The packages of tools/package.sh, the wheel, the .zip for Windows, a list of what is inside them
# (SPDX) and the hashes of all of these. They are built in a clone of the tag, so nothing that is not
# in the tag gets into them. Two runs give the same bytes if the packages of the system have the same
# versions.
set -euo pipefail

tag="${1:-}"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
commit="$(git -C "$root" rev-parse --quiet --verify "refs/tags/$tag^{commit}")" || {
  printf 'release: expected a tag, found "%s"; the tags are: %s\n' \
    "$tag" "$(git -C "$root" tag | paste -sd ' ')" >&2
  exit 2
}
"$root/tools/install_dependencies.sh" git

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
git -c advice.detachedHead=false clone --quiet --branch "$tag" "$root" "$work/gpt2"
version="$(sed -n 's/.*GPT2_VERSION_STRING "\(.*\)".*/\1/p' "$work/gpt2/include/gpt2/version.h")"
if [[ "$tag" != "v$version" ]]; then
  printf 'release: the tag %s has the version %s in include/gpt2/version.h; expected the tag v%s\n' \
    "$tag" "$version" "$version" >&2
  exit 2
fi

# What the bytes of a package depend on beside its contents.
SOURCE_DATE_EPOCH="$(git -C "$root" log -1 --format=%ct "$commit")"
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022

out="$root/build/$tag"
rm -rf "$out"
mkdir -p "$out"
{
  "$work/gpt2/tools/package.sh" deb tgz static static-aarch64
  "$work/gpt2/tools/wheel.sh"
  "$work/gpt2/tools/zip.sh"
} >"$work/files"
while read -r file; do mv "$file" "$out/"; done <"$work/files"
cd "$out"
python3 "$work/gpt2/tools/make_sbom.py" "$version" * >"gpt2-$version.spdx.json"
sha256sum -- * >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" .
printf '%s\n' "$out"/*
