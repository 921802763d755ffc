#!/bin/sh
# Runs gpt2 batch under Open MPI's mpirun, kills one of three ranks ten times, and compares the
# shares, joined as the manual says, with the output of one undisturbed process. Then checks that a rank with an invalid
# line does not make Open MPI end the other ranks. Usage: mpirun_test.sh COMMAND
# Exit status 4: skipped, because there is no Open MPI.
set -u
command=$1
if ! mpirun --version 2>/dev/null | grep -q "Open MPI"; then
  echo "skipped: install openmpi-bin to test gpt2 batch under mpirun"
  exit 4
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
seq -f "Tom has %g cats" 2400 > in
batch="$command batch --lines in -n 8 -t 1"
mpirun="mpirun --allow-run-as-root --oversubscribe -n 3"
ranks="$mpirun $batch -o out"

$batch -o whole 2> log || { cat log; exit 1; }
killed=0
for run in 1 2 3 4 5 6 7 8 9 10; do
  $ranks > log 2>&1 &
  launcher=$!
  rank=
  while [ -z "$rank" ] && kill -0 "$launcher" 2> /dev/null; do rank=$(pgrep -n -P "$launcher"); done
  sleep "0.$((1 + run % 3))"
  if [ -n "$rank" ] && kill -9 "$rank" 2> /dev/null; then killed=$((killed + 1)); fi
  wait "$launcher"
done
[ "$killed" -ge 1 ] || { echo "no rank was killed: the runs were too short"; exit 1; }
$ranks > log 2>&1 || { cat log; exit 1; }
sort -ms -t: -k2,2n out.*-of-3 > out || exit 1
cmp out whole || exit 1
# If a rank returned a status other than 0, Open MPI would end all ranks.
long='{"token_ids": [1], "ignore_eos": true, "max_new_tokens": 500}'
printf '%s\nwrong\n%s\n' "$long" "$long" > in.jsonl
$mpirun $command batch in.jsonl -o wrong -t 1 > log 2>&1 || { cat log; exit 1; }
sort -ms -t: -k2,2n wrong.*-of-3 > wrong
$command batch in.jsonl -o wrong -t 1 2> log
[ $? -eq 3 ] || { echo "expected status 3, as a line has an error:"; cat log; exit 1; }
echo "killed $killed times; the shares are what one process writes"
