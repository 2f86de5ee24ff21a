#!/usr/bin/env python3
"""Writes the C++ source that holds the report's page: write_embedded_page.py SKELETON FOLDER SOURCE

SKELETON is page/index.html, FOLDER holds page.js and page.css, SOURCE is the file to write. The page's
content policy names the script and the style sheet by their digests, so that nothing else that might
find its way into the page runs.
"""
import base64
import hashlib
import re
import sys
from pathlib import Path

# The compiler joins adjacent literals. One alone may be limited to 64 KiB.
LITERAL_LENGTH = 16000

SOURCE = """// Written by cmake/write_embedded_page.py.
#include "harness/report/page/page.hpp"

namespace gla_bench {

PageShell embedded_page() {
  static constexpr std::string_view before =
%s;
  static constexpr std::string_view after =
%s;
  return {before, after};
}

}  // namespace gla_bench
"""


def digest(text):
    """The digest as a content policy spells it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def literals(text):
    pieces = [text[at:at + LITERAL_LENGTH] for at in range(0, len(text), LITERAL_LENGTH)]
    return "\n".join(f'R"gla_bench({piece})gla_bench"' for piece in pieces)


def filled(page, folder):
    """The skeleton with script and styles in their places."""
    for kind in ("js", "css"):
        file = folder / f"page.{kind}"
        text = file.read_text(encoding="utf-8")
        if end := re.search("</script|</style|<!--", text):
            sys.exit(f"{file}: holds {end.group()}, which would end its element")
        page = page.replace(f"@{kind}_digest@", digest(text)).replace(f"@{kind}@", text)
    return page


def main():
    skeleton, folder, source = map(Path, sys.argv[1:])
    before, place, after = filled(skeleton.read_text(encoding="utf-8"), folder).partition("@data@")
    if not place:
        sys.exit(f"{skeleton}: has no place for the data")
    source.write_text(SOURCE % (literals(before), literals(after)), encoding="utf-8")


if __name__ == "__main__":
    main()
