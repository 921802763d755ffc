#!/usr/bin/env bash
# Downloads a model from the HuggingFace hub: tools/download_model.sh NAME[@REVISION] [DIRECTORY]
#
# This is what `gpt2 download` runs; its --help describes it. Without a DIRECTORY, the script writes
# to HuggingFace's cache, in the layout of huggingface_hub: blobs/HASH has the content of a file,
# snapshots/COMMIT/FILE is a link to it, and refs/REVISION has the commit. All that the hub says
# (hashes, commits, addresses, the names of shards and of a base) is checked before it is used.
set -euo pipefail
export LC_ALL=C  # [a-z] matches 26 letters

# The files that gpt2 reads. The first of the weights that the hub has is fetched, and of the others
# all that it has. A config makes a directory a model, so it is fetched last.
weights=({model.safetensors,pytorch_model.bin}{,.index.json} ckpt.pt
  model.fp16.safetensors adapter_model.{safetensors,bin})
others=(spiece.model {,aitextgen.}tokenizer.json vocab.{json,txt} merges.txt meta.pkl
  aitextgen-{vocab.json,merges.txt} {tokenizer,generation}_config.json special_tokens_map.json
  added_tokens.json chat_template.jinja)

say() { printf '%s\n' "$*" | tr -c '[:print:]\n' '?' >&2; }
fail() { say "${0##*/}: $*"; exit 1; }

# ask URL [OPTION...]: runs curl, adds what it writes to $answer, and sets $result (curl's exit
# status), $status (the server's), $url (where a redirect leads) and $error. curl reads the token
# from its standard input, because everyone sees the arguments of a process, and gives it to no
# server that a redirect leads to.
ask() {
  result=0
  answer+=$'\n'"$(printf '%s\n' ${token:+"header = \"Authorization: Bearer $token\""} |
    curl --config - --silent --globoff --proto "=${origin%%:*},https" --user-agent gpt2.cpp \
      --connect-timeout 30 --speed-limit 1 --speed-time 60 --suppress-connect-headers \
      --write-out '%{http_code}|%{redirect_url}|%{errormsg}' "${@:2}" -- "$1")" || result=$?
  IFS='|' read -r status url error <<<"${answer##*$'\n'}"
}

# header NAME: prints the last value of this header in $answer, without quotes.
header() { tr -d '"\r' <<<"$answer" | sed -n "s/^$1: *\(W\/\)\{0,1\}//Ip" | tail -n 1; }

# look FILE: returns whether the hub has the file, and sets $hash and $size. Follows redirects
# within the hub, because a model may have been renamed. Another redirect leads to the content of a
# large file; the same answer has its size and hash. All files come from the commit of the first.
look() {
  local hops=0
  url="$endpoint/$name/resolve/${commit:-${revision//\//%2F}}/$1" status=30 answer=''
  while [[ "$status" == 30* && "$url" == "$origin"/* ]]; do
    ((++hops < 7)) || fail "$1: the hub's redirect leads in circles"
    ask "$url" --head
  done
  hash="$(header x-linked-etag)" size="$(header x-linked-size)"
  commit="${commit:-$(header x-repo-commit)}"
  case "$status:$(header x-error-code)" in
    200:*) hash="${hash:-$(header etag)}" size="${size:-$(header content-length)}" ;;
    30*) ;;
    404:RevisionNotFound) fail "$name has no revision '$revision' at $endpoint" ;;
    404:RepoNotFound | 401:* | 403:*)
      fail "no model '$name' at $endpoint, or it is gated or private (status $status); check the" \
        "name (OWNER/NAME), accept the terms on its page, set HF_TOKEN" ;;
    404:*) return 1 ;;
    000:*) fail "cannot reach $origin: $error; check the network, HF_ENDPOINT and the proxy" ;;
    *) fail "$1: the hub answered with status $status; try again later" ;;
  esac
  [[ "$size" =~ ^(0|[1-9][0-9]{0,14})$ && "$hash" =~ ^[A-Za-z0-9_-]{1,128}$ &&
    "$commit" =~ ^[0-9a-f]{40}$ ]] ||
    fail "$1: $origin does not report the file's commit, size and hash, as a hub of models does"
}

# expand PATH: prints the path with the values of $NAME and ${NAME} in it, and the home directory in
# the place of ~/, as `gpt2 -m` and huggingface_hub read it.
expand() {
  local rest="$1" path=''
  [[ "$rest" != \~/* ]] || rest="$HOME/${rest:2}"
  while [[ "$rest" =~ ^([^$]*)(\$\{?([A-Za-z0-9_]+)\}?)(.*)$ ]]; do
    path+="${BASH_REMATCH[1]}$(printenv "${BASH_REMATCH[3]}" || printf '%s' "${BASH_REMATCH[2]}")"
    rest="${BASH_REMATCH[4]}"
  done
  printf '%s\n' "$path$rest"
}

# Returns whether a file has the hash of the last `look`. The hub's hash of a large file is SHA-256,
# and that of a small one is git's. A mirror may have an ETag of its own; then the size counts.
is_right() {
  [[ -f "$1" ]] || return
  case "${#hash}" in
    64) sha256sum <"$1" ;;
    40) { printf 'blob %s\0' "$size" && cat "$1"; } | sha1sum ;;
    *) [[ "$(wc -c <"$1")" -ne "$size" ]] || echo "$hash " ;;
  esac | grep -q "^$hash "
}

# fill FILE PART: downloads the missing end of PART, and goes on for as long as PART gets larger
# than it has ever been. If the server cannot continue a file, it is begun again.
fill() {
  local tries=0 most=0 held answer='' progress=()
  [[ ! -t 2 ]] || progress=(--no-silent --progress-bar)
  { : >>"$2"; } 2>/dev/null || fail "$1: cannot write to ${2%/*}; choose another directory"
  while held="$(wc -c <"$2")" && ((held != size)); do
    ((held <= most)) || most="$held" tries=0
    ((++tries < 4)) || fail "$1: cut off: $error; run this again to continue from there"
    sleep "$((tries - 1))"
    ask "$endpoint/$name/resolve/$commit/$1" --location --max-redirs 5 --fail \
      --continue-at - --output "$2" ${progress[@]+"${progress[@]}"}
    case "$result:$status" in
      0:*) return ;;
      23:*) fail "$1: cannot write to ${2%/*}: $error; make room, and run this again" ;;
      33:* | *:416) : >"$2" ;;  # the server cannot continue from there
      22:4*) fail "$1: the server answered with status $status; run this again" ;;
    esac
  done
}

# fetch FILE: downloads the file of the last `look`, which gets its name when it is complete.
fetch() {
  local target="$repository/blobs/$hash" part="$repository/blobs/$hash.incomplete"
  [[ -z "$directory" ]] || target="$place/$1" part="$place/.$1.$hash.incomplete"
  say "$1 ($size bytes)"
  if ! is_right "$target"; then
    fill "$1" "$part"
    is_right "$part" || {
      rm -f "$part"
      fail "$1: its size or hash is not what the hub reports: it was damaged; run this again"
    }
    mv -f "$part" "$target"
  fi
  [[ -n "$directory" ]] || ln -sfn "../../blobs/$hash" "$place/$1"
}

# value FILE NAME PATTERN: prints the part \(...\) of the pattern, which "NAME": has in a JSON file.
value() { tr -d '\n\r' <"$place/$1" | sed -n "s/.*\"$2\"[[:space:]]*:[[:space:]]*$3.*/\1/p"; }

# Fetches the shards that an index names.
fetch_shards() {
  local shards shard
  shards="$(value "$1" weight_map '{\([^}]*\)}' | grep -oE ':[[:space:]]*"[^"]*"' |
    cut -d '"' -f 2 | sort -u)" || fail "$1: names no files in a weight_map"
  while IFS= read -r shard; do
    [[ "$shard" =~ ^$word\.(safetensors|bin)$ ]] ||
      fail "$1: names the file '${shard:0:80}'; expected a name that ends in .safetensors or .bin"
    look "$shard" || fail "$name has no file $shard, which $1 names"
    fetch "$shard"
  done <<<"$shards"
}

# Fetches the base that the adapter_config.json of an adapter names.
fetch_base() {
  local base
  base="$(value adapter_config.json base_model_name_or_path '"\([^"]*\)"')"
  if [[ "$base" =~ ^$names$ && "$base" != *..* ]]; then
    say "its base, $base"
    download "$base" '' adapter >/dev/null
  else
    say "note: the base of this adapter is '${base:0:80}', which the hub cannot have; use --base"
  fi
}

# download NAME[@REVISION] DIRECTORY [adapter]: downloads a model, or the base of an adapter.
download() {
  local file main config=config.json place ref
  name="${1%%@*}" revision=main commit='' directory="$2"
  [[ "$1" != *@* ]] || revision="${1#*@}"

  for main in "${weights[@]}"; do look "$main" && break; done ||
    fail "$name has no weights that gpt2 reads: ${weights[*]}"
  [[ "$main" != adapter_* ]] || config=adapter_config.json
  [[ "$main" == ckpt.pt ]] || look "$config" ||
    fail "$name has no $config at $endpoint, so it is not a model for gpt2"
  [[ "$main" != adapter_* || $# -lt 3 ]] ||
    fail "$name is an adapter, too; expected a whole model"

  repository="$cache/models--${name//\//--}"
  place="${directory:-$repository/snapshots/$commit}"
  mkdir -p -- "$place" "${directory:-$repository/blobs}" || fail "cannot make the directory $place"
  exec 9<"${directory:-$repository}"  # whose blobs all revisions share
  ! command -v flock >/dev/null || flock --nonblock 9 ||
    fail "another download into $place is running"
  for file in "$main" "${others[@]}" "$config"; do
    look "$file" || continue
    fetch "$file"
    [[ "$file" != *.index.json ]] || fetch_shards "$file"
  done
  if [[ -z "$directory" && "$revision" != "$commit" ]]; then
    ref="$repository/refs/$revision"
    mkdir -p "${ref%/*}"
    printf '%s' "$commit" >"$ref.$$"
    mv -f "$ref.$$" "$ref"
  fi
  [[ "$main" != adapter_* ]] || fetch_base
  printf '%s\n' "$place"
}

word='[A-Za-z0-9_][A-Za-z0-9._-]*'
names="$word(/$word)?"
if [[ $# -lt 1 || $# -gt 2 || "$1" == -* ]]; then
  sed -n 2p "${BASH_SOURCE[0]:-/dev/null}" >&2
  exit 2
fi
[[ "$1" =~ ^$names(@$word(/$word)*)?$ && "$1" != *..* ]] ||
  fail "'$1' is not a model's name; expected NAME or OWNER/NAME, optionally with @REVISION"
hub="${HF_ENDPOINT:-https://huggingface.co}"
[[ "$hub" =~ ^((https?://[^/[:space:]]+)(/[^/[:space:]]+)*)/*$ ]] ||
  fail "HF_ENDPOINT is not a web address: '$hub'; expected https://..."
endpoint="${BASH_REMATCH[1]}" origin="${BASH_REMATCH[2]}"
HOME=${HOME:-~}  # services may have none
hf_home="${HF_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/huggingface}"
cache="$(expand "${HF_HUB_CACHE:-${HUGGINGFACE_HUB_CACHE:-$hf_home/hub}}")"
token="${HF_TOKEN:-$(cat "$(expand "$hf_home")/token" 2>/dev/null || true)}"
token="${token//[$'\r\n']/}"  # which secrets often have at their end
[[ "$token" =~ ^[A-Za-z0-9_.~+/=-]*$ ]] ||
  fail "HF_TOKEN is no token: it has characters that no token has"
command -v curl >/dev/null || fail "curl is missing; install it (apt-get install curl)"
download "$1" "${2:-}"
