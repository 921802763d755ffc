#!/usr/bin/env bash
# Makes the reference of the public headers as web pages, in build/docs/html: tools/docs.sh
# Installs Doxygen if it is missing. Fails if a comment does not match its declaration.
set -euo pipefail

if [[ $# -gt 0 ]]; then
  printf 'docs: it takes no arguments: tools/docs.sh\n' >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh" doxygen
cd "$root"
mkdir -p build/docs

# Formats the examples in comments as blocks of code.
filter=build/docs/examples.sed
cat >"$filter" <<'END'
/^ *\/\/\/ Example:$/ {
  s/Example:/@code/
  :next
  n
  /^ *\/\/\/   /b next
  i\
/// @endcode
}
END
doxygen - <<END
PROJECT_NAME           = gpt2.cpp
PROJECT_NUMBER         = $(sed -n 's/.*GPT2_VERSION_STRING "\(.*\)".*/\1/p' include/gpt2/version.h)
INPUT                  = include/gpt2
INPUT_FILTER           = "sed -f $filter"
FULL_PATH_NAMES        = YES
STRIP_FROM_PATH        = include
OUTPUT_DIRECTORY       = build/docs
GENERATE_LATEX         = NO
JAVADOC_AUTOBRIEF      = YES
EXTRACT_ALL            = YES
BUILTIN_STL_SUPPORT    = YES
MACRO_EXPANSION        = YES
EXPAND_ONLY_PREDEF     = YES
PREDEFINED             = GPT2_API=
HAVE_DOT               = NO
CLASS_GRAPH            = NO
QUIET                  = YES
WARN_IF_UNDOCUMENTED   = NO
WARN_AS_ERROR          = FAIL_ON_WARNINGS
END
printf '%s\n' "build/docs/html/index.html"
