#!/usr/bin/env bash
# Downloads a GPT-2 model from the HuggingFace hub to a directory where `gpt2 -m NAME` finds it.
#
#   tools/download_model.sh NAME[@REVISION] [DIRECTORY]
#
#   tools/download_model.sh gpt2                       # then: gpt2 -m gpt2 "Once upon a time"
#   tools/download_model.sh distilbert/distilgpt2
#   tools/download_model.sh gpt2@607a30d783dfa663caf39e06633721c8d4cfcd7e
#   HF_TOKEN=hf_... tools/download_model.sh owner/private-model ~/models/private
#
# Downloads the files that gpt2 reads (config.json, the weights, the tokenizer) and prints their
# directory. The default is NAME in $GPT2_MODELS, or in models/ of this repository. Every file is
# checked against the size and the hash that the hub reports. If a download was interrupted, run the
# script again: it keeps complete files and continues the others. HF_ENDPOINT names another hub to
# use. HF_TOKEN is the access token for gated and private models.
set -euo pipefail
export LC_ALL=C  # [a-z] matches 26 letters, and tools print the messages that this script expects
unset CDPATH     # otherwise cd may go to another directory, and print its name

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "download_model: $*"
  exit 1
}

usage() { sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# -- The hub -------------------------------------------------------------------------------------

# Prints curl's options for one URL. curl reads them from standard input, so that neither the token
# nor a signed address appears in the list of processes. Only the hub gets the token.
options_for() {
  local url="${1//\\/\\\\}"
  printf 'url = "%s"\n' "${url//\"/\\\"}"
  if [[ -n "${HF_TOKEN:-}" && "$(origin_of "$1")" == "$origin" ]]; then
    printf 'header = "Authorization: Bearer %s"\n' "$HF_TOKEN"
  fi
}

ask() {
  local url="$1"
  shift
  options_for "$url" | curl --config - --silent --globoff --proto "$protocols" \
    --suppress-connect-headers --user-agent gpt2.cpp --connect-timeout 30 \
    --speed-limit 1 --speed-time 60 --write-out '%{errormsg}' "$@"
}

origin_of() {
  local url="${1%%[?#]*}" scheme="${1%%://*}"
  url="${url#*://}"
  printf '%s://%s' "$scheme" "${url%%/*}"
}

# Reads the header of a response. Sets $status and $header, whose keys are names in lower case.
declare -A header
parse() {
  local line
  status=''
  header=()
  while IFS= read -r line; do
    line="${line//[^[:print:]]/}"
    if [[ "$line" == HTTP/* ]]; then
      line="${line#* }"
      status="${line%% *}"
    elif [[ "$line" =~ ^([A-Za-z0-9-]+):\ *(.*)$ ]]; then
      header["${BASH_REMATCH[1],,}"]="${BASH_REMATCH[2]}"
    fi
  done <<<"$1"
}

# look FILE: asks the hub about a file and sets $status, $url, $size and $hash, without downloading
# the file. Follows redirects within the hub, because a model may have been renamed. A redirect that
# leaves the hub leads to the content of a large file; the hub reports the size and the hash of this
# file in the same response.
look() {
  local file="$1" hops answer location commit=''
  url="$endpoint/$name/resolve/${revision//\//%2F}/$file"
  size=''
  hash=''
  for ((hops = 0; hops < 5; hops++)); do
    answer="$(ask "$url" --head)" ||
      fail "cannot reach $origin: ${answer##*$'\n'}; check the network, HF_ENDPOINT and the proxy"
    parse "$answer"
    commit="${header[x-repo-commit]:-$commit}"
    size="${header[x-linked-size]:-$size}"
    hash="${header[x-linked-etag]:-$hash}"
    [[ "$status" == 30? ]] || break
    location="${header[location]:-}"
    [[ "$location" == /* ]] && location="$origin$location"
    [[ "$location" == http://* || "$location" == https://* ]] ||
      fail "$file: the hub's redirect leads nowhere (status $status)"
    url="$location"
    [[ "$(origin_of "$url")" == "$origin" ]] || break
  done
  ((hops < 5)) || fail "$file: the hub's redirect leads in circles"

  if [[ "$status" == 200 ]]; then
    size="${size:-${header[content-length]:-}}"
    hash="${hash:-${header[etag]:-}}"
  fi
  [[ "$size" =~ ^(0|[1-9][0-9]{0,14})$ ]] || size=''
  hash="${hash#W/}"
  hash="${hash//\"/}"
  [[ "$hash" =~ ^([0-9a-f]{40}|[0-9a-f]{64})$ ]] || hash=''
  # All files come from one commit, even if the branch changes meanwhile.
  if [[ "$commit" =~ ^[0-9a-f]{40}$ ]]; then revision="$commit"; fi
}

# Returns whether the hub has the file of the last `look`. Ends the script if the response does not
# show it.
is_there() {
  local file="$1"
  case "$status:${header[x-error-code]:-}" in
    200:* | 30?:*) return 0 ;;
    404:RevisionNotFound) fail "$name has no revision '$revision' at $endpoint" ;;
    404:RepoNotFound) fail "no model '$name' at $endpoint; check the name (owner/name)" ;;
    404:*) return 1 ;;
    401:* | 403:*)
      if [[ -n "${HF_TOKEN:-}" ]]; then
        fail "no access to '$name' at $endpoint (status $status): HF_TOKEN does not grant access;" \
          "accept the model's terms on its page, or check the name and the token"
      fi
      fail "no access to '$name' at $endpoint (status $status): there is no such model, or it is" \
        "gated or private; check the name, or set HF_TOKEN"
      ;;
    *) fail "$file: the hub answered with status $status; try again later" ;;
  esac
}

has() {
  look "$1"
  is_there "$1"
}

# -- One file ------------------------------------------------------------------------------------

size_of() {
  if [[ -f "$1" ]]; then wc -c <"$1"; else printf 0; fi
}

# The hub's hash of a large file is its SHA-256; its hash of a small file is git's blob hash.
hash_of() {
  if [[ ${#hash} -eq 64 ]]; then
    sha256sum <"$1"
  else
    { printf 'blob %s\0' "$(size_of "$1")" && cat "$1"; } | sha1sum
  fi | cut -d ' ' -f 1
}

# Returns whether a file has the size and the hash that `look` found. Does not check what the hub
# has not reported.
is_right() {
  [[ -f "$1" ]] && [[ -z "$size" || "$(size_of "$1")" == "$size" ]] &&
    [[ -n "$size$hash" ]] && [[ -z "$hash" || "$(hash_of "$1")" == "$hash" ]]
}

# Prints a size, such as "665 bytes", "1.5 KiB" or "522.7 MiB".
in_words() {
  awk -v bytes="$1" 'BEGIN {
    if (bytes < 1024) printf "%d %s", bytes, bytes == 1 ? "byte" : "bytes"
    else if (bytes < 1048576) printf "%.1f KiB", bytes / 1024
    else printf "%.1f MiB", bytes / 1048576
  }'
}

check_space() {
  local free
  free="$(df -Pk "$directory" | awk 'END { print $4 }')"
  if [[ -n "$size" && "$free" =~ ^[0-9]+$ ]] && ((size - $1 > free * 1024)); then
    fail "$2: needs $(in_words $((size - $1))), but $directory has $(in_words $((free * 1024)))" \
      "free; make room and run this again"
  fi
}

# Downloads the missing end of $part and appends it. Shows the progress on a terminal. Sets $result
# to curl's exit status and $error to its message.
transfer() {
  local follow=() watcher=''
  [[ "$(origin_of "$url")" == "$origin" ]] || follow=(--location --max-redirs 5)
  if [[ -t 2 ]]; then
    while sleep 0.5 && kill -0 $$ 2>/dev/null; do
      printf '\r%s%s ' "$(in_words "$(size_of "$part")")" "${size:+ of $(in_words "$size")}" >&2
    done &
    watcher=$!
  fi
  result=0
  error="$(ask "$url" "${follow[@]}" --fail --continue-at - --output "$part")" || result=$?
  if [[ -n "$watcher" ]]; then
    kill "$watcher" 2>/dev/null || true
    printf '\r\033[K' >&2
  fi
}

# Completes $part. If the download is interrupted, continues it as long as each attempt receives
# some data.
fill() {
  local file="$1" tries=0 before have
  while :; do
    before="$(size_of "$part")"
    [[ -n "$size" && "$before" == "$size" ]] && return
    check_space "$before" "$file"
    transfer
    [[ $result -eq 0 ]] && return
    have="$(size_of "$part")"
    case "$result $error" in
      23*) fail "$file: cannot write to $directory: $error; make room and run this again" ;;
      33* | 22*416*) rm -f "$part" ;;  # the server cannot continue from there
      22*' 4'*) fail "$file: the server answered with status ${error##*: }; run this again" ;;
    esac
    if ((have > before)); then
      tries=0
    elif ((++tries == 3)); then
      fail "$file: cut off at $(in_words "$have"): $error; run this again to continue from there"
    fi
    sleep $((tries + 1))
  done
}

# fetch FILE: downloads the file of the last `look`. The file gets its name only when it is complete
# and checked.
fetch() {
  local file="$1" target="$directory/$1" have found
  if is_right "$target"; then
    say "$file: already complete"
    return
  fi
  # The name of a partial file contains the hash, so partial files of different versions have
  # different names. If there is no hash, a partial file is never continued.
  part="$directory/.$file.${hash:0:16}.part"
  if [[ -z "$hash" || (-n "$size" && "$(size_of "$part")" -gt "$size") ]]; then rm -f "$part"; fi

  error="$({ : >>"$part"; } 2>&1)" || fail "$file: cannot write to $directory: ${error##*: }"
  say "$file${size:+ ($(in_words "$size"))}"
  fill "$file"
  have="$(size_of "$part")"
  if [[ -n "$size" && "$have" != "$size" ]]; then
    rm -f "$part"
    fail "$file: got $have bytes, expected $size; run this again"
  fi
  found="${hash:+$(hash_of "$part")}"
  if [[ "$found" != "$hash" ]]; then
    rm -f "$part"
    fail "$file: its hash is $found, expected $hash: it was damaged on the way; run this again"
  fi
  mv -f "$part" "$target"
  rm -f "$directory/.$file."*.part  # partial files of other versions
}

# -- A model -------------------------------------------------------------------------------------

# Prints the names of the shards in an index. The index is untrusted, so the names are checked.
shards_in() {
  local suffix="$2" shards shard
  shards="$(tr '\n\r' '  ' <"$directory/$1" |
    sed -n 's/.*"weight_map"[[:space:]]*:[[:space:]]*{\([^}]*\)}.*/\1/p' |
    grep -oE ':[[:space:]]*"[^"]*"' | sed 's/^[^"]*"//; s/"$//' | sort -u)" ||
    fail "$1: names no files in a weight_map"
  while IFS= read -r shard; do
    [[ "$shard" =~ ^[A-Za-z0-9_][A-Za-z0-9._-]*$ && "$shard" == *"$suffix" ]] ||
      fail "$1: names the file '$(tr -cd '[:print:]' <<<"${shard:0:80}")'; expected NAME$suffix"
  done <<<"$shards"
  printf '%s\n' "$shards"
}

# Sets $weights and $tokenizer to the names of the files that the hub has. Downloads nothing, so
# that the script can first check that the files form a complete model.
find_files() {
  has config.json || fail "$name has no config.json at $endpoint, so it is not a model for gpt2"
  for weights in {model.safetensors,pytorch_model.bin}{,.index.json} ''; do
    if [[ -z "$weights" ]] || has "$weights"; then break; fi
  done
  [[ -n "$weights" ]] ||
    fail "$name has no weights that gpt2 reads: neither model.safetensors nor pytorch_model.bin," \
      "nor an index of the shards of either"
  tokenizer=()
  if has tokenizer.json; then
    tokenizer=(tokenizer.json)
  elif has vocab.json; then
    has merges.txt || fail "$name has a vocab.json, but no merges.txt"
    tokenizer=(vocab.json merges.txt)
  else
    say "note: $name has no tokenizer that gpt2 reads; use it with token ids (gpt2 --tokens)"
  fi
}

# get FILE [WHY]: downloads a file that the hub must have.
get() {
  has "$1" || fail "$name has no file $1${2:-}"
  fetch "$1"
}

fetch_weights() {
  local stem="${weights%.index.json}" shards shard
  get "$weights"
  [[ "$weights" != "$stem" ]] || return 0
  shards="$(shards_in "$weights" ".${stem##*.}")"
  while IFS= read -r shard; do
    get "$shard" ", which $weights names"
  done <<<"$shards"
}

fetch_tokenizer() {
  local file
  for file in "${tokenizer[@]}"; do get "$file"; done
  for file in {tokenizer_config,special_tokens_map,added_tokens,generation_config}.json; do
    if has "$file"; then fetch "$file"; fi
  done
}

main() {
  if [[ "${1:-}" == --help || "${1:-}" == -h ]]; then
    usage
    exit 0
  fi
  if [[ $# -lt 1 || $# -gt 2 || "$1" == -* ]]; then
    usage >&2
    exit 2
  fi
  local word='[A-Za-z0-9_][A-Za-z0-9._-]*'
  [[ "$1" =~ ^$word(/$word)?(@$word(/$word)*)?$ && "$1" != *..* ]] ||
    fail "'${1//[^[:print:]]/?}' is not a model's name; expected NAME or OWNER/NAME, optionally" \
      "with @REVISION"
  name="${1%%@*}"
  revision=main
  [[ "$1" == *@* ]] && revision="${1#*@}"
  directory="${2:-${GPT2_MODELS:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/models}/$1}"

  endpoint="${HF_ENDPOINT:-https://huggingface.co}"
  endpoint="${endpoint%/}"
  [[ "$endpoint" =~ ^https?://[^[:space:]]+$ ]] ||
    fail "HF_ENDPOINT is not a web address: '$endpoint'; expected https://..."
  origin="$(origin_of "$endpoint")"
  protocols='=https'
  [[ "$origin" == http://* ]] && protocols='=http,https'
  [[ "${HF_TOKEN:-}" =~ ^[A-Za-z0-9_.~+/=-]*$ ]] ||
    fail "HF_TOKEN is no token: it has characters that no token has"
  command -v curl >/dev/null || fail "curl is missing; install it (apt-get install curl)"

  find_files
  error="$(mkdir -p -- "$directory" 2>&1)" ||
    fail "cannot make the directory $directory: ${error##*: }"
  [[ -r "$directory" && -x "$directory" ]] || fail "no permission to read the directory $directory"
  directory="$(cd -- "$directory" && pwd)"
  exec {lock}<"$directory"
  ! command -v flock >/dev/null || flock --nonblock "$lock" ||
    fail "another download into $directory is running"
  get config.json
  fetch_tokenizer
  fetch_weights
  printf '%s\n' "$directory"
}

main "$@"
