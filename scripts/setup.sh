#!/usr/bin/env bash
# Installs what is missing (Debian or Ubuntu packages), configures and builds into build/.
# --fuzz first: also what scripts/fuzz.sh needs, where the system has it as packages.
# --program first: only what the program itself needs; the page of report --html is left out where
# its two packages are missing. Further arguments go to CMake. The CUDA toolkit is used where there
# is one, never installed.
set -euo pipefail
cd "$(dirname "$0")/.."

# package:command where any provider of the command will do.
packages=(g++:g++ cmake:cmake ninja-build:ninja git:git python3:python3
  libcli11-dev nlohmann-json3-dev libbenchmark-dev libopenblas-dev zlib1g-dev libboost-dev)
test_packages=(python3-jsonschema libgtest-dev)

# The page of report --html is made at build time, and tested in a browser. Apart from the others:
# without them the build does without the page, and says so.
page_packages=(esbuild:esbuild node-d3)
page_test_packages=(nodejs:node eslint:eslint chromium:chromium chromium-driver:chromedriver
  python3-selenium)

# Engines that start many tasks: gla-bench-mpi is built with MPI, and sweeps are tested by both. Where they cannot
# be had, the tests of sweeps are skipped by name.
mpi_packages=(openmpi-bin:mpirun libopenmpi-dev:mpicc)
sweep_test_packages=(slurm-wlm:sbatch munge)

fuzz_packages=(clang:clang++ libclang-rt-14-dev libomp-dev)

updated=false
install_missing() {
  local entry package missing=() sudo=()
  for entry in "$@"; do
    package=${entry%%:*}
    if [[ $entry == *:* ]] && command -v "${entry#*:}" >/dev/null; then continue; fi
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi
  echo "installing: ${missing[*]}"
  if [[ $(id -u) != 0 ]]; then sudo=(sudo); fi
  if ! { { $updated || "${sudo[@]}" apt-get update -q; } &&
    updated=true &&
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -q --no-install-recommends \
      "${missing[@]}"; } >>build-packages.log 2>&1; then
    # A machine may have them from elsewhere: CMake, or the fuzz script, has the last word.
    echo "could not install all of: ${missing[*]} (see build-packages.log)" >&2
  fi
}

# flashinfer-bench's models of its own files, for a test of what `export --flashinfer` writes: without what
# the rest of that package needs. Without them the test is skipped.
install_for_flashinfer() {
  if [[ -d build-python/flashinfer_bench ]]; then return; fi
  { python3 -m pip install -q --target build-python --no-deps 'flashinfer-bench==0.1.2' &&
    python3 -m pip install -q --target build-python pydantic; } >>build-packages.log 2>&1 ||
    echo "could not install flashinfer-bench (see build-packages.log)" >&2
}

# What Python's module is built with, and NumPy for its tests, from PyPI into a folder of the build's own.
# Without them the build does without the module, and says so.
install_for_python() {
  if [[ -d build-python/nanobind ]]; then return; fi
  local headers
  headers=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
  if [[ ! -e $headers/Python.h ]]; then install_missing python3-dev; fi
  if ! python3 -m pip --version >/dev/null 2>&1; then install_missing python3-pip; fi
  python3 -m pip install -q --target build-python 'nanobind>=2.4' numpy >>build-packages.log 2>&1 ||
    echo "could not install nanobind and numpy (see build-packages.log)" >&2
}

what=everything
case ${1:-} in
  --fuzz | --program)
    what=${1#--}
    shift
    ;;
esac
install_missing "${packages[@]}"
if [[ $what != program ]]; then
  install_missing "${page_packages[@]}"
  install_missing "${mpi_packages[@]}"
fi
if [[ "$*" != *-DGLA_BENCH_TESTS=OFF* ]]; then install_missing "${test_packages[@]}"; fi
if [[ $what != program ]]; then
  install_for_python
  install_for_flashinfer
fi
if [[ $what == fuzz ]]; then install_missing "${fuzz_packages[@]}"; fi
# A browser and Slurm are for tests alone, and large: they are installed while the build runs. A build that fails
# waits for them too, so that nothing holds the packages' lock afterwards.
trap wait EXIT
if [[ "$*" != *-DGLA_BENCH_TESTS=OFF* ]]; then
  {
    install_missing "${page_test_packages[@]}"
    install_missing "${sweep_test_packages[@]}"
  } &
fi

# A toolkit in the usual place counts even when nvcc is not on the PATH.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  export PATH="$PATH:/usr/local/cuda/bin"
fi
cmake -S . -B build -G Ninja "$@"
cmake --build build --parallel "$(nproc)"
