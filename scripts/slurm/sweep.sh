#!/usr/bin/env bash
# Runs a config on a cluster of Slurm: an array job, one task for each shard, then a job that merges
# the shards into one results file.
#
#   scripts/slurm/sweep.sh CONFIG N [OPTION...] [-- PROGRAM OPTION...]
#     -o FOLDER    where everything goes, seen by all nodes, as CONFIG is (default: CONFIG's name and "-shards")
#     -c COMMAND   run (default), verify or tune
#     -p PROGRAM   gla-bench, as the nodes find it (default: build/gla-bench of this tree, else by PATH)
#     -s OPTION    for sbatch, of the array alone: -s --gres=gpu:1 -s --time=4:00:00
#
# FOLDER receives part-I.json of each shard, log/part-I.txt with what its task did, whole.json and
# log/merge.txt. A task that is preempted, killed or requeued goes on from its journal. The same command
# once more completes what is missing: shards that are complete end at once.
set -euo pipefail

usage() {
  sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2
  exit 2
}
(($# >= 2)) || usage
config=$1
shards=$2
shift 2
[[ $shards =~ ^[1-9][0-9]*$ ]] || {
  echo "sweep.sh: found \"$shards\" shards, expected a number from 1" >&2
  exit 2
}
[[ -r $config ]] || {
  echo "sweep.sh: $config: cannot be read" >&2
  exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(basename "$config" .json)-shards
command=run
program=$here/../../build/gla-bench
[[ -x $program ]] || program=gla-bench
options=()
while (($# > 0)); do
  case $1 in
    -o) folder=${2:?} ;;
    -c) command=${2:?} ;;
    -p) program=${2:?} ;;
    -s) options+=("${2:?}") ;;
    --)
      shift
      break
      ;;
    *) usage ;;
  esac
  shift 2
done
case $command in
  run | verify | tune) ;;
  *)
    echo "sweep.sh: found the command \"$command\", expected run, verify or tune" >&2
    exit 2
    ;;
esac
mkdir -p "$folder/log"
folder=$(cd "$folder" && pwd)
config=$(cd "$(dirname "$config")" && pwd)/$(basename "$config")
if [[ -x $program && $program == */* ]]; then
  program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
fi

array=$(sbatch --parsable --job-name="$(basename "$config" .json)" --array="1-$shards" --requeue \
  --open-mode=append --output="$folder/log/part-%a.txt" "${options[@]}" \
  "$here/task.sh" "$program" "$command" "$config" "$folder" "$@")
merge=$(sbatch --parsable --job-name="merge-$(basename "$config" .json)" \
  --dependency="afterany:${array%%;*}" --requeue --open-mode=truncate \
  --output="$folder/log/merge.txt" "$here/merge.sh" "$program" "$folder")
echo "array ${array%%;*} of $shards shards, then merge ${merge%%;*}; $folder/whole.json"
