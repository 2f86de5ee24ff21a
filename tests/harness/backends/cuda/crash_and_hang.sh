#!/usr/bin/env bash
# A sweep of 100 candidates on a GPU, one of which writes to an illegal address and one of which never
# ends: 98 good rows, one `crashed` with the CUDA error, one `timeout`; no GPU's device file open in
# the parent. The faults are planted in a copy of the kernels, which --kernels names.
#
#   crash_and_hang.sh PROGRAM SOURCE_DIR FOLDER     exit code 77: there is no GPU
set -euo pipefail
program=$1 source=$2 folder=$3

info=$("$program" info --backend cuda --quick)
grep -q '^cuda$' <<<"$info" || { echo "no GPU to run on"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder/tree"
cp -r "$source/kernels" "$folder/tree/kernels"
python3 - "$folder/tree/kernels/linear_recurrence/recurrent/recurrent.cuh" <<'PYTHON'
import sys
path = sys.argv[1]
text = open(path).read()
call = "  gla_bench::linear_recurrence::recurrent::run(p, shared);\n"
if text.count(call) != 1:
    sys.exit(f"{path}: where is the kernel's body?")
def when(tokens, code):
    return (f"  if constexpr (tile::block_v == 32 && tile::lanes == 16 && tile::columns == 2 &&\n"
            f"                tile::tokens == {tokens} && tile::stages == 2) {{\n    {code}\n  }}\n")
text = text.replace(call, when(8, "*reinterpret_cast<volatile int*>(16) = 1;  // no such address")
                    + when(16, 'while (true) asm volatile("nanosleep.u32 1000;");') + call)
open(path, "w").write(text)
PYTHON
cat >"$folder/config.json" <<'JSON'
{ "backend": "cuda",
  "sweeps": [{ "operator": "gla", "variants": ["recurrent"], "dtypes": ["bfloat16"], "gates": ["typical"],
    "shapes": [[2, 512, 4, 128, 128]], "max_tiles": 100 }],
  "policy": { "timing": { "min_samples": 5, "max_samples": 20, "min_seconds": 0 },
              "limits": { "least_seconds": 15 } } }
JSON

"$program" run "$folder/config.json" --kernels "$folder/tree/kernels" --cache-dir "$folder/cache" -q \
  -o "$folder/records.json" >"$folder/log" 2>&1 &
run=$!
opened=0
while kill -0 "$run" 2>/dev/null; do
  # Not libcuda.so among its maps: cuBLAS loads the driver's library when it is loaded itself.
  if ls -l "/proc/$run/fd" 2>/dev/null | grep -q '/dev/nvidia'; then opened=1; fi
  sleep 0.5
done
code=0
wait "$run" || code=$?
cat "$folder/log"
[[ $opened == 0 ]] || { echo "FAIL: the parent opened the GPU"; exit 1; }
[[ $code == 1 ]] || { echo "FAIL: exit code $code, expected 1"; exit 1; }
python3 - "$folder/records.json" <<'PYTHON'
import collections, json, sys
records = json.load(open(sys.argv[1]))["records"]
count = collections.Counter(record["status"] for record in records)
del count["rejected"]
print(dict(count))
for record in records:
    if record["status"] in ("crashed", "timeout"):
        print(record["status"], record["tile"], record["reason"])
crashed = [r for r in records if r["status"] == "crashed"]
if count != {"measured": 98, "crashed": 1, "timeout": 1}:
    sys.exit("FAIL: expected 98 measured, 1 crashed, 1 timeout")
if "cudaErrorIllegalAddress" not in crashed[0]["reason"]:
    sys.exit("FAIL: the crash does not name the CUDA error")
if any(not r.get("device", "").startswith("GPU-") for r in records if r["status"] != "rejected"):
    sys.exit("FAIL: a record does not name its GPU")
PYTHON
echo "PASS"
