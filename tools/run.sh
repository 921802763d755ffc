#!/usr/bin/env bash
# Installs what is missing, builds, and runs the gpt2 command with the arguments given; without any
# it writes a story with the bundled model. Only the command's own output goes to stdout.
#
#   tools/run.sh "Once upon a time"
#   tools/run.sh --help
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh"
"$root/tools/build.sh" release gpt2_cli
exec "$root/build/release/gpt2" "$@"
