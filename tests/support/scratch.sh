# Sourced by tests that are scripts:
#
#   source scratch.sh NEEDED
#
# Ends the test as skipped if there is no directory NEEDED. Otherwise makes an empty one, $scratch,
# which is the working directory from then on and is removed when the test ends.

if [[ ! -d "$1" ]]; then
  printf 'skipped: there is no directory %s\n' "$1" >&2
  exit 4
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
