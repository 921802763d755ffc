#!/usr/bin/env bash
# Tests install_dependencies.sh with stand-ins for the package managers, which note how they are
# called.
#
#   dependencies_test.sh SOURCE_DIR
set -euo pipefail

source="$1" script="$1/tools/install_dependencies.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$source"

fail() { printf '%s\n' "$*" >&2; exit 1; }

# The stand-in for a manager and for the program that it asks. A package is installed if it is a line
# of the file `has`. If there is a file `stale`, nothing can be installed before an update.
cat >stand_in <<'END'
#!/bin/bash
printf '%s %s\n' "${0##*/}" "$*" >>calls
case "$*" in
  --show* | --query* | info* | list*)
    grep -qx -e "${@: -1}" has || exit 1
    [[ "$*" != --show* ]] || printf installed
    ;;
  update*) rm -f stale ;;
  *) [[ ! -e stale ]] || { echo "nothing found"; exit 1; } ;;
esac
END
chmod +x stand_in

# run MANAGER QUERY: runs the script on a system that has this manager alone.
run() {
  rm -rf bin calls
  mkdir bin
  local tool
  for tool in bash env cat mktemp rm grep; do ln -s "$(command -v "$tool")" bin/; done
  printf '#!/bin/bash\nexec "$@"\n' >bin/sudo
  chmod +x bin/sudo
  cp stand_in "bin/$1"
  cp stand_in "bin/$2"
  touch calls
  env -i PATH="$scratch/bin" bash "$script" extra >out 2>errors
}

while read -r manager query install utf8proc; do
  : >has
  run "$manager" "$query" || fail "$manager: $(<errors)"
  line="$(grep "^$manager .*$install" calls)" || fail "$manager: $(<calls)"
  [[ " $line " == *" $utf8proc "*" extra "* && ! -s out ]] || fail "$manager: $line"
done <<'END'
apt-get dpkg-query install libutf8proc-dev
dnf rpm install utf8proc-devel
pacman pacman --sync libutf8proc
apk apk add utf8proc-dev
brew brew install utf8proc
END

# What is installed is not installed again, and if nothing is missing, nothing happens.
: >has
run apt-get dpkg-query
grep '^apt-get .*install' calls | tr ' ' '\n' | sed '/^libutf8proc-dev$/d' >has
run apt-get dpkg-query
grep -q '^apt-get .*install.* libutf8proc-dev$' calls || fail "$(<calls)"
echo libutf8proc-dev >>has
run apt-get dpkg-query || fail "$(<errors)"
[[ ! -s errors ]] && ! grep -q install calls || fail "$(<errors)$(<calls)"

# A manager with lists updates them if it finds nothing, and the message of one that fails is shown.
: >has
touch stale
run apt-get dpkg-query || fail "$(<errors)"
touch stale
! run dnf rpm || fail "dnf: expected a failure"
[[ "$(<errors)" == *"nothing found"*"could not install"* ]] || fail "$(<errors)"
