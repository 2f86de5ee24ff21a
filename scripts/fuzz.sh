#!/usr/bin/env bash
# Bad input: builds the libFuzzer targets of fuzz/ and runs them.
#
#   scripts/fuzz.sh TARGET SECONDS [libFuzzer options]   one target, its finds kept in build-fuzz/
#   scripts/fuzz.sh all SECONDS                          each of them, two at a time
#   scripts/fuzz.sh list                                 their names
#
# --quick first, for seconds of fuzzing in CI: built in build-fuzz-quick/, where sources compile in half the time. Only
# AddressSanitizer watches the rooms, libFuzzer sees no ways through them, and targets are slower.
#
# A crash, a leak, more than 25 s or 1 GB for one input, undefined behaviour or an exception other than
# InputError fails, and leaves the input in build-fuzz/TARGET-*. Needs clang++ with compiler-rt
# (Debian: clang, libclang-rt-14-dev, libomp-dev); without them it says so and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=fuzz
if [[ ${1:-} == --quick ]]; then
  preset=fuzz-quick
  shift
fi
folder=build-$preset
mapfile -t targets < <(cd fuzz/corpus && printf '%s\n' *)
if [[ ${1:-} == list ]]; then
  printf '%s\n' "${targets[@]}"
  exit
fi
if (($# < 2)) || ! [[ $2 =~ ^[0-9]+$ ]] ||
  ! [[ " all ${targets[*]} " == *" $1 "* ]]; then
  echo "usage: scripts/fuzz.sh [--quick] TARGET SECONDS, TARGET one of: all ${targets[*]}" >&2
  exit 2
fi
chosen=$1 seconds=$2
shift 2

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
cat >"$probe/probe.cpp" <<'SOURCE'
#include <omp.h>
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) {
  return omp_get_max_threads() < 0;
}
SOURCE
if ! clang++ -fopenmp -fsanitize=fuzzer,address,undefined "$probe/probe.cpp" -o "$probe/probe" \
  2>"$probe/log"; then
  echo "fuzzing skipped: it needs clang++ with libFuzzer and OpenMP (apt-get install clang" \
    "libclang-rt-14-dev libomp-dev): $(head -1 "$probe/log")"
  exit 77
fi
if [[ $chosen == all ]]; then build=fuzzers; else build=fuzz_$chosen; fi
cmake --preset "$preset" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
mv "$folder.log" "$folder"/
cmake --build "$folder" --target "$build" --parallel "$(nproc)" >"$folder"/build.log ||
  { grep -v 'Cannot export local symbol' "$folder"/build.log | tail -40; exit 1; }

# Runs one target from its seeds and from what earlier runs found; says what it covered.
fuzz() {
  local target=$1
  shift
  local found="$folder"/corpus/$target log="$folder"/$target.log
  mkdir -p "$found"
  local status=0
  "$folder"/fuzz/fuzz_"$target" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=1024 \
    -max_len=16384 -dict=fuzz/dictionaries/"$target".dict -artifact_prefix="$folder/$target"- \
    -print_final_stats=1 "$@" "$found" fuzz/corpus/"$target" >"$log" 2>&1 || status=$?
  if ((status != 0)); then
    echo "$target: FAILED (exit code $status)"
    grep -v -E '^#[0-9]+\s+(NEW|REDUCE|pulse|RELOAD)|^Dictionary' "$log" | tail -60
    return 1
  fi
  echo "$target: $(grep -o 'number_of_executed_units: .*' "$log" | grep -o '[0-9]*') inputs in" \
    "$seconds s, $(grep -o 'cov: [0-9]* ft: [0-9]* corp: [0-9]*' "$log" | tail -1)"
}

if [[ $chosen != all ]]; then
  fuzz "$chosen" "$@"
  exit
fi
failed=0
running=()
for target in "${targets[@]}"; do
  if ((${#running[@]} == 2)); then
    wait "${running[0]}" || failed=1
    running=("${running[@]:1}")
  fi
  fuzz "$target" "$@" &
  running+=($!)
done
for process in "${running[@]}"; do wait "$process" || failed=1; done
exit "$failed"
