#!/usr/bin/env bash
# Compares a program with itself: pairs of runs, one after the other, of one config.
#
#   scripts/aa.sh PROGRAM CONFIG PAIRS [options of run, such as --backend host]
#
# Nothing changes between two runs but the machine, so no row may be `slower` or `faster`, whichever
# of the two is taken for the base. Exits with 1 where one is. Prints the verdicts of each pair.
set -euo pipefail
if (($# < 3)) || ! [[ $3 =~ ^[1-9][0-9]*$ ]]; then
  sed -n '2,7p' "$0" >&2
  exit 2
fi
program=$1 config=$2 pairs=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

measure() { "$program" run "$config" "$@" --quiet --force >"$folder/log" 2>&1 ||
  { cat "$folder/log" >&2; exit 1; }; }

# One way round; prints the counts of the verdicts.
compare() {
  local code=0
  "$program" compare "$1" "$2" --gate >"$folder/text" || code=$?
  tail -3 "$folder/text" | grep ' rows: '
  case $code in
    0 | 4) ! tail -3 "$folder/text" | grep -q ' faster' ;;
    *) false ;;
  esac || { cat "$folder/text"; failed=1; }
}

failed=0
for ((pair = 1; pair <= pairs; ++pair)); do
  measure -o "$folder/a.json" "$@"
  measure -o "$folder/b.json" "$@"
  echo "pair $pair of $pairs"
  compare "$folder/a.json" "$folder/b.json"
  compare "$folder/b.json" "$folder/a.json"
done
((failed == 0)) && echo "no row is slower or faster"
exit "$failed"
