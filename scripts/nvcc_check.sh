#!/usr/bin/env bash
# A second opinion on the kernels: nvcc compiles one candidate of each CUDA variant and dtype, and
# one of each source that a variant imports.
#   nvcc_check.sh PROGRAM CONFIG NVCC WORK_FOLDER
# The program writes each compilation unit's whole source; every warning of nvcc is an error.
set -euo pipefail
program=$1 config=$2 nvcc=$3 work=$4
root=$(cd "$(dirname "$0")/.." && pwd)

rm -rf "$work" && mkdir -p "$work"
"$program" compile "$config" --arch sm_90a --emit "$work" >"$work/compile.log"

declare -A seen=()
files=()
for file in "$work"/*.cu; do
  kind=$(basename "$file" | cut -d- -f1,2) # variant[+import]-dtype
  [[ -n ${seen[$kind]:-} ]] && continue
  seen[$kind]=1
  files+=("$file")
done
((${#files[@]})) || { echo "no source was written"; exit 1; }

printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -I{} "$nvcc" -cubin -std=c++17 \
  -gencode=arch=compute_90a,code=sm_90a -Werror all-warnings -I "$root/kernels" -I "$root" -o {}.cubin {}
echo "${#files[@]} kernels compiled by $("$nvcc" --version | tail -n 1)"
