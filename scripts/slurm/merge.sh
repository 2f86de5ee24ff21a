#!/usr/bin/env bash
# The last job of a sweep: merge.sh PROGRAM FOLDER (scripts/slurm/sweep.sh submits it).
set -euo pipefail
shopt -s nullglob
parts=("$2"/part-*.json)
if ((${#parts[@]} == 0)); then
  echo "$2: no shard has a file"
  exit 1
fi
exec "$1" merge "${parts[@]}" -o "$2/whole.json" --force
