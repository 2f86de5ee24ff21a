#!/usr/bin/env bash
# From nothing to a verdict: set-up with warnings as errors, then every test. Among them: each CUDA
# variant of configs/sanitize.json compiled, configs/ci.json verified on the host, all records gated.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh -DGLA_BENCH_TESTS=ON -DGLA_BENCH_WERROR=ON
ctest --test-dir build --output-on-failure --parallel "$(nproc)" "$@"
