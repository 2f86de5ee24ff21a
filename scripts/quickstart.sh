#!/usr/bin/env bash
# From nothing to a table: set-up, then the main job (configs/quick.json) on the GPU where there is
# one, on the CPU otherwise. The records go to build/quick.json.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --program -DGLA_BENCH_TESTS=OFF
build/gla-bench run configs/quick.json --output build/quick.json --force
