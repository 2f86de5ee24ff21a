#!/usr/bin/env bash
# One shard of a sweep, as an element of an array job: task.sh PROGRAM COMMAND CONFIG FOLDER [OPTION...]
# (scripts/slurm/sweep.sh submits it).
set -euo pipefail
program=$1
command=$2
config=$3
folder=$4
shift 4
restart=${SLURM_RESTART_COUNT:-0}
say() {
  echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) shard $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT on" \
    "${SLURMD_NODENAME:-$(hostname)}, job $SLURM_ARRAY_JOB_ID, restart $restart: $*"
}
for ((try = 1; ; try++)); do
  say begins
  status=0
  "$program" "$command" "$config" --shard auto -o "$folder/part-{shard}.json" --resume -q "$@" ||
    status=$?
  say "ended with exit code $status"
  # Slurm may start a task anew while the node that it lost still runs the old one, which holds the
  # journal's lock.
  if ((status != 2 || restart == 0 || try == 5)); then exit "$status"; fi
  sleep 30
done
