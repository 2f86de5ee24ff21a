#!/bin/sh
# Makes the H200's tuned table from the committed records, without a GPU. A later file's entry of a bucket takes the
# place of an earlier one's, so the files go from the oldest kernels to the newest. --check ends with 1 where the table
# is another one than that.
#   scripts/tuned_table.sh [--check] PROGRAM TABLE
set -eu
check=
if [ "${1-}" = --check ]; then check=1; shift; fi
[ $# -eq 2 ] || { sed -n '2,5s/^# *//p' "$0" >&2; exit 2; }
program=$(realpath "$1") table=$(realpath "$2")
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for files in search/tuning decode softmax gla_layer operators attention_backward attention "linear_recurrence gla headline" training; do
  set --
  for file in $files; do set -- "$@" "results/h200/$file.json"; done
  "$program" tune --from "$@" -o "$folder/table.json" > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
done
if [ -n "$check" ]; then
  cmp -s "$folder/table.json" "$table" || { echo "$table: is not of the records; run scripts/tuned_table.sh"; exit 1; }
else
  cp "$folder/table.json" "$table"
  tail -n 1 "$folder/log"
fi
