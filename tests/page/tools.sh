#!/usr/bin/env bash
# tools.sh units|lint|rows|browser SOURCE_DIR FOLDER NODE_MODULES [PROGRAM]: tests of the page with the
# system's tools; 77 where they are not there.
set -euo pipefail
job=$1 source=$2 folder=$3
# Modules of the distribution lie where only its own node looks.
export NODE_PATH=$4

need() {
  command -v "$1" >/dev/null && return
  echo "skipped: $1 is not installed"
  exit 77
}

# Tests are bundled like the page is, so that they find d3 where the page finds it.
units() {
  need node
  need esbuild
  rm -rf "$folder/units"
  esbuild "$source"/tests/page/*_test.js --bundle --platform=node --format=esm --target=node18 \
    --log-level=warning --outdir="$folder/units" --out-extension:.js=.mjs
  cd "$source"
  node --test "$folder"/units/*.mjs
}

# What the page decodes of its data is what `report --json` says, row by row.
rows() {
  need node
  need esbuild
  mkdir -p "$folder"
  esbuild "$source/tests/page/rows_of_page.js" --bundle --platform=node --format=cjs \
    --target=node18 --log-level=warning --outfile="$folder/rows_of_page.cjs"
  python3 "$source/tests/page/rows_against_report.py" "$1" "$source" "$folder"
}

lint() {
  need eslint
  cd "$source"
  # Its default formatter needs a package that not every node finds.
  eslint --format unix page tests/page
}

browser() {
  need chromedriver
  need chromium
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import selenium' 2>/dev/null; then
      exec "$python" "$source/tests/page/browser_test.py" "$1" "$source" "$folder/browser"
    fi
  done
  echo "skipped: python3-selenium is not installed"
  exit 77
}

"$job" "${@:5}"
