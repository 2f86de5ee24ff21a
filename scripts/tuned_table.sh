#!/bin/sh
# Makes the H200's tuned table anew from the committed records, without a GPU. A later file's entry of a bucket
# takes the place of an earlier one's, so the files go from the oldest kernels to the newest.
#   scripts/tuned_table.sh PROGRAM TABLE
set -eu
[ $# -eq 2 ] || { sed -n '2,4s/^# *//p' "$0" >&2; exit 2; }
program=$(realpath "$1") table=$(realpath "$2")
cd "$(dirname "$0")/.."
for files in search/tuning decode softmax gla_layer attention_backward attention linear_recurrence "gla headline" training; do
  set --
  for file in $files; do set -- "$@" "results/h200/$file.json"; done
  "$program" tune --from "$@" -o "$table" | tail -n 1
done
