#!/usr/bin/env bash
# Tests the architecture: layers_test.sh SOURCE_DIR
#
#   - an #include leads to the same layer or to one below it; the rooms of requests are layers, too;
#   - the files compiled for one instruction set include nothing but kernels;
#   - one file of the library starts threads, and only that one has OpenMP's directives; another
#     finds out how many it may start. Two files of the command start one more thread each;
#   - a header or a macro of an operating system occurs only in a source for that system, such as
#     system_linux.cpp. Exceptions are src/serve and editor.cpp, which other systems do not have;
#   - nothing takes exp, log and the like from the C library;
#   - the C interface, the command, the server and the web include public headers, their own, requests
#     and base, and the command the table of options and the tasks of scoring; the web quantizes
#     weights as they arrive;
#   - no function has more than 50 lines and no file more than 400, comments not counted;
#   - every public header has an example.
#
# It also adds a violation of each kind to a copy of the tree, and fails unless each of them is
# found.
set -euo pipefail

max_function=50
max_file=400

# Functions that may be longer. quantized_tile: its sums stay in registers from the first loop to
# the last, and every loop works on all of them.
long_functions='
quantized_tile()
'

# Files that may be longer. gpt2.h: programs that bind the C interface to other languages read one
# header, and it has nothing but declarations.
long_files='
include/gpt2/gpt2.h:
'

# The layers that each layer may include. Every folder of src/ must be listed. Some rooms of a
# folder are layers of their own.
layers='
  base:
  tensor:   base
  kernels:  base
  formats:  tensor base
  text:     formats tensor base
  model:    formats kernels tensor base
  generate: generate/options generate/score model text formats kernels tensor base
  generate/options: generate model text formats kernels tensor base
  generate/score: generate generate/options model text formats kernels tensor base
  inspect:  generate model text formats kernels tensor base
  requests/read: inspect generate generate/options model text tensor base
  requests/answer: requests/read inspect generate generate/options model text tensor base
  requests/run: requests/answer requests/read inspect generate model text tensor base
  serve:    requests/run requests/answer requests/read base
  cli:      serve requests/run requests/answer requests/read generate/options generate/score cli/bench base
  cli/bench: cli model formats kernels tensor base
  c_api:    requests/run requests/answer requests/read base
  web:      requests/run requests/answer requests/read model formats kernels tensor base
'

# The layer that each public header belongs to. Every file of include/gpt2/ must be listed.
headers='
  error:base runtime:base version:base types:base model_files:base
  tensor:tensor config:tensor
  tokenizer:text
  layer_norm:model model:model engine:model session:model embed:model observer:model
  sampler:generate generate:generate scheduler:generate
  generation_config:generate score:generate beam_search:generate option_fields:generate
  inspect:inspect pass_change:inspect
  gpt2:c_api
'

# The headers of POSIX and Windows, and the macros that tell systems apart.
of_a_system='^ *# *include *<((sys|net|netinet|arpa|linux|mach|mach-o|asm)/|(aio|dirent|dlfcn|fcntl|grp|langinfo|netdb|poll|pthread|pwd|sched|semaphore|signal|spawn|strings|syslog|termios|unistd|utime)\.h>'
of_a_system+='|(csignal>|(bcrypt|conio|direct|io|process|psapi|shellapi|share|win[a-z0-9]*|ws2[a-z]*)\.h>))'
of_a_system+='|\<(_WIN(32|64)|__(linux|APPLE|MACH|unix|CYGWIN|MINGW(32|64)|FreeBSD)__|__linux|__gnu_linux__|_MSC_VER)\>'

# Prints every violation in the tree at $1, one a line.
violations() (
  cd "$1"

  grep -rHn --include='*.h' --include='*.cpp' -E '^ *# *include *"' include src |
    awk -F: -v layers="$layers" -v headers="$headers" '
      BEGIN {
        count = split(layers, line, "\n")
        for (i = 1; i <= count; i++) {
          if (split(line[i], part, ":") < 2) continue
          gsub(/ /, "", part[1])
          known[part[1]] = 1
          allowed[part[1], part[1]] = 1
          below = split(part[2], name, " ")
          for (j = 1; j <= below; j++) allowed[part[1], name[j]] = 1
        }
        count = split(headers, entry, " ")
        for (i = 1; i <= count; i++) {
          split(entry[i], part, ":")
          layer_of_header["gpt2/" part[1] ".h"] = part[2]
        }
      }
      function layer_of(path) {
        if (path ~ /^gpt2\//) return layer_of_header[path]
        while (sub(/\/[^\/]*$/, "", path) && !(path in known)) continue
        return path in known ? path : ""
      }
      {
        split($0, quoted, "\"")
        from = $1
        sub(/^(include|src)\//, "", from)
        if (layer_of(from) == "") print $1 ": belongs to no known layer"
        else if (layer_of(quoted[2]) == "") print $1 ":" $2 ": includes " quoted[2] ", which belongs to no known layer"
        else if (layer_of(from) ~ /^(serve|cli|c_api|web)$/ && quoted[2] ~ /^gpt2\//) next
        else if (!((layer_of(from), layer_of(quoted[2])) in allowed))
          print $1 ":" $2 ": " layer_of(from) " must not include " quoted[2]
      }'

  # The code that is compiled for one instruction set is everything that the kernel tables reach.
  for file in src/kernels/*.h src/kernels/kernels_*.cpp; do
    grep -Hn -E '^ *# *include' "$file" |
      grep -v -E '<(cstddef|cstdint|(immintrin|arm_neon|wasm_simd128)\.h)>|"kernels/' |
      sed 's/$/: kernels include nothing but kernels/' || true
  done

  # Only one file of the library starts threads, but for those with which system/threads.h finds
  # out how many OpenMP can start. The command starts one more thread, which makes a draft while the
  # text is being written, or computes while the server speaks with its clients.
  grep -rHn --include='*.h' --include='*.cpp' -E 'std::(j?thread|async)\b|# *pragma +omp|pthread_create' include src |
    grep -v -E '^src/base/team.cpp:.*pragma omp parallel' |
    grep -v -E '^src/(base/(team|system/threads_[a-z]+)|cli/generate/command|serve/worker)\.(h|cpp):[0-9]+:[^#]*$|hardware_concurrency|std::thread::id' |
    sed 's/$/: threads belong in src\/base\/team.cpp/' || true

  # src/serve stands on POSIX sockets, and editor.cpp on libedit, which is for terminals of POSIX.
  grep -rHn --include='*.h' --include='*.cpp' -E "$of_a_system" include src |
    grep -v -E '^[^:]*_(posix|linux|macos|windows|web)\.(cpp|h):|^src/serve/|^src/cli/terminal/editor\.cpp:' |
    sed 's/$/: belongs in a source for one system/' || true

  # The last digit of these differs between C libraries.
  grep -rHn --include='*.h' --include='*.cpp' \
    -E 'std::(exp|log|pow|cbrt|hypot|a?(sin|cos|tan)|erf|[tl]gamma)[a-z0-9]*\(' include src |
    sed 's/$/: exp_f64.h and softmax.h give the same bits on every machine/' || true

  find include src \( -name '*.h' -o -name '*.cpp' \) -exec awk -v max_function="$max_function" \
    -v max_file="$max_file" -f "$lengths" {} + |
    grep -v -F -f <(grep -v '^$' <<<"$long_functions$long_files") || true

  grep -L 'Example:' include/gpt2/*.h | sed 's/$/: no example/' || true
)

fail() {
  printf 'layers_test: %s\n' "$*" >&2
  exit 1
}

source="$(cd "$1" && pwd)"
lengths="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lengths.awk"
source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$source"
cp -r "$source/include" "$source/src" "$scratch"

# plant EXPECTED FILE LINE...: adds the lines to FILE in the copy of the tree, where `violations`
# has to print a line that begins with FILE and has EXPECTED.
expected=()
plant() {
  expected+=("^$2.*$1")
  printf '%s\n' "${@:3}" >>"$scratch/$2"
}

plant 'base must not include tensor/matrix.h' src/base/team.h '#include "tensor/matrix.h"'
plant 'text must not include model/block.h' src/text/models.h '#include "model/block.h"'
plant 'text must not include gpt2/session.h' include/gpt2/tokenizer.h '#include "gpt2/session.h"'
plant 'which belongs to no known layer' src/model/block.h '#include "attic/block.h"'
plant 'kernels include nothing but kernels' src/kernels/norm.h '#include <vector>'
plant 'threads belong in' src/model/attention.cpp 'std::thread helper;'
plant 'threads belong in' src/base/system/threads_linux.cpp '#pragma omp parallel'
plant 'belongs in a source for one system' src/base/new_file.cpp '#include <unistd.h>'
plant 'belongs in a source for one system' src/base/system/files.h '#include <windows.h>'
plant 'belongs in a source for one system' src/model/block.h '#ifdef _WIN32'
plant 'give the same bits on every machine' src/generate/score/score.cpp 'double x = std::exp(1.0);'
plant 'cli must not include model/block.h' src/cli/model.h '#include "model/block.h"'
plant 'read must not include requests/answer' src/requests/read/tokens.h '#include "requests/answer/completion.h"'
plant 'answer must not include requests/run' src/requests/answer/completion.h '#include "requests/run/run.h"'
plant 'c_api must not include tensor/matrix.h' src/c_api/guard.h '#include "tensor/matrix.h"'
mapfile -t many < <(yes 'int x;' | head -n "$max_file")
plant ' lines' src/tensor/matrix.h "${many[@]}"
plant 'void f(): 52 lines' src/model/block.h 'void f() {' "${many[@]:0:50}" '}'
sed -i 's/Example:/For instance:/' "$scratch/include/gpt2/version.h"
expected+=('^include/gpt2/version.h.*no example')

found="$(violations "$scratch")"
for one in "${expected[@]}"; do
  grep -q "$one" <<<"$found" || fail "did not find: $one"
done

found="$(violations "$source")"
[[ -z "$found" ]] || fail $'\n'"$found"
