#!/usr/bin/env bash
# Installs missing packages, builds, and runs the gpt2 command with the given arguments. Without
# arguments, the command writes a story with the bundled model. Only the output of the command goes
# to stdout.
#
#   tools/run.sh "Once upon a time"
#   tools/run.sh --help
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh"
"$root/tools/build.sh" release gpt2_cli gpt2_shared gpt2_man_pages
exec "$root/build/release/gpt2" "$@"
