#!/usr/bin/env bash
# From nothing to a verdict: set-up with warnings as errors, then every test. Among them: each CUDA
# candidate of configs/ci.json compiled, the same config verified on the host, all records gated.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh -DGLA_BENCH_TESTS=ON -DGLA_BENCH_WERROR=ON
ctest --test-dir build --output-on-failure --parallel "$(nproc)" "$@"
