#!/usr/bin/env bash
# A second opinion on the kernels: nvcc compiles one candidate of each CUDA variant, and one of each
# source that a variant imports. What the oldest architecture takes is compiled for that one, the
# rest for sm_90a. The program's own compiler, whose front end is the same, has all of them.
#   nvcc_check.sh PROGRAM CONFIG NVCC WORK_FOLDER
# The program writes each compilation unit's whole source; every warning of nvcc is an error. Warnings
# need no machine code, which takes four times as long, and more where it is optimised: emit_check.py
# compiles a candidate of each variant in full.
set -euo pipefail
program=$1 config=$2 nvcc=$3 work=$4
root=$(cd "$(dirname "$0")/.." && pwd)

rm -rf "$work"
declare -A seen=() texts=()
jobs=() # pairs of an architecture and a file
for arch in 80 90a; do
  mkdir -p "$work/$arch"
  "$program" compile "$config" --arch "sm_$arch" --emit "$work/$arch" --no-build >"$work/$arch.log"
  for kind in $(cd "$work/$arch" && ls -- *.cu | cut -d- -f1 | sort -u); do # variant[+import]
    [[ -n ${seen[$kind]:-} ]] && continue
    # The files of a kind begin with its first dtype. By turns each kind shows another one.
    files=("$work/$arch/$kind"-*.cu)
    file=${files[${#seen[@]} % ${#files[@]}]}
    seen[$kind]=1
    # Variants that import one source may have the same text of it, which needs one compilation.
    text=$arch-$(sha256sum <"$file")
    [[ -n ${texts[$text]:-} ]] && continue
    texts[$text]=1
    jobs+=("$arch" "$file")
  done
done
((${#jobs[@]})) || { echo "no source was written"; exit 1; }

quick=
if "$nvcc" --help | grep -q -- --Ofast-compile; then quick=--Ofast-compile=max; fi # from 12.9 on
export nvcc root quick
printf '%s\0' "${jobs[@]}" | xargs -0 -P "$(nproc)" -n 2 bash -c \
  '"$nvcc" -ptx -std=c++17 $quick -arch="compute_$0" -Werror all-warnings \
    -I "$root/kernels" -I "$root" -o "$1.ptx" "$1"'
echo "$((${#jobs[@]} / 2)) kernels compiled by $("$nvcc" --version | tail -n 1)"
