#!/bin/sh
# Runs gpt2 batch under Open MPI's mpirun, kills one of three ranks ten times, and compares the
# merged shares with what one undisturbed process writes. Usage: mpirun_test.sh COMMAND
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
ranks="mpirun --allow-run-as-root --oversubscribe -n 3 $batch -o out"

$batch -o whole 2> log || { cat log; exit 1; }
killed=0
for run in 1 2 3 4 5 6 7 8 9 10; do
  $ranks > log 2>&1 &
  mpirun=$!
  rank=
  while [ -z "$rank" ] && kill -0 "$mpirun" 2> /dev/null; do rank=$(pgrep -n -P "$mpirun"); done
  sleep "0.$((1 + run % 3))"
  if [ -n "$rank" ] && kill -9 "$rank" 2> /dev/null; then killed=$((killed + 1)); fi
  wait "$mpirun"
done
[ "$killed" -ge 1 ] || { echo "no rank was killed: the runs were too short"; exit 1; }
$ranks > log 2>&1 || { cat log; exit 1; }
$command batch in -o out --merge || exit 1
cmp out whole || exit 1
echo "killed $killed times; the merged shares are what one process writes"
