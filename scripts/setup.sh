#!/usr/bin/env bash
# Installs what is missing (Debian or Ubuntu packages), configures and builds into build/.
# Further arguments go to CMake. The CUDA toolkit is used where there is one, never installed.
set -euo pipefail
cd "$(dirname "$0")/.."

# package:command where any provider of the command will do.
packages=(g++:g++ cmake:cmake ninja-build:ninja git:git python3:python3 python3-jsonschema
  libcli11-dev nlohmann-json3-dev libbenchmark-dev libgtest-dev libopenblas-dev)

missing=()
for entry in "${packages[@]}"; do
  package=${entry%%:*}
  if [[ $entry == *:* ]] && command -v "${entry#*:}" >/dev/null; then continue; fi
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing+=("$package")
done
if ((${#missing[@]})); then
  echo "installing: ${missing[*]}"
  sudo=()
  if [[ $(id -u) != 0 ]]; then sudo=(sudo); fi
  if ! { "${sudo[@]}" apt-get update -q &&
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -q --no-install-recommends \
      "${missing[@]}"; } >build-packages.log 2>&1; then
    # A machine may have them from elsewhere: CMake has the last word.
    echo "could not install all of: ${missing[*]} (see build-packages.log)" >&2
  fi
fi

# A toolkit in the usual place counts even when nvcc is not on the PATH.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  export PATH="$PATH:/usr/local/cuda/bin"
fi
cmake -S . -B build -G Ninja "$@"
cmake --build build --parallel "$(nproc)"
