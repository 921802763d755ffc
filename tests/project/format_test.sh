#!/usr/bin/env bash
# Tests that all sources have the layout of .clang-format: format_test.sh SOURCE_DIR
#
# Versions of clang-format differ in details. Debian's 14 decides; without it, the test is skipped.
set -euo pipefail

cd "$1"
command -v clang-format-14 >/dev/null || exit 77
find include src tests -name '*.cpp' -o -name '*.h' -o -name '*.c' |
  xargs clang-format-14 --dry-run -Werror
