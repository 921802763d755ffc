#!/usr/bin/env bash
# Tests gpt2 serve with npm's package openai: openai_client_test.sh GPT2 MODEL FOLDER
#
# GPT2 is the command, MODEL the folder of a model, and FOLDER the one into which the package is
# installed. The exit status is 4 if there is no Node.js or no way to the npm registry, which CTest
# counts as skipped.
set -euo pipefail

gpt2="$1"
model="$2"
folder="$3"
version=6.49.0  # tested with this one; any later one should do

command -v node >/dev/null && command -v npm >/dev/null || { echo "no Node.js"; exit 4; }
major="$(node -p 'process.versions.node.split(".")[0]')"
((major >= 20)) || { echo "Node.js is too old"; exit 4; }

mkdir -p "$folder"
source="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$folder"
if [[ ! -d node_modules/openai ]]; then
  echo '{"private": true}' >package.json
  timeout 120 npm install --no-audit --no-fund --ignore-scripts --loglevel=error \
    "openai@$version" || { echo "the npm registry cannot be reached"; exit 4; }
fi
cp "$source/openai_client.mjs" .
node openai_client.mjs "$gpt2" "$model"
