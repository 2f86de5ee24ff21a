#!/usr/bin/env bash
# From nothing to a verdict: set-up with warnings as errors, then every test. Among them: each CUDA
# variant of configs/sanitize.json compiled, configs/ci.json verified on the host, all records gated.
# Then every fuzz target for a short while, where there is clang++ with libFuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --fuzz -DGLA_BENCH_TESTS=ON -DGLA_BENCH_WERROR=ON
ctest --test-dir build --output-on-failure --parallel "$(nproc)" "$@"

# The same seed each time: what CI says of a commit is not left to chance.
status=0
scripts/fuzz.sh --quick all 3 -seed=1 || status=$?
if ((status != 0 && status != 77)); then exit "$status"; fi
