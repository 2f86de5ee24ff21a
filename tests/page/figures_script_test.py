#!/usr/bin/env python3
"""What scripts/figures.py --check says of a small repository whose figures are up to date, and of the
same with one thing changed: figures_script_test.py PROGRAM SOURCE_DIR"""
import base64
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

program, source = sys.argv[1], Path(sys.argv[2])
spec = importlib.util.spec_from_file_location("figures", source / "scripts/figures.py")
figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figures)


def write_manifest(root):
    hashes = {name: figures.digest(root / name) for name in figures.outputs()}
    (root / figures.MANIFEST).write_text(
        json.dumps({"inputs": figures.inputs_of(root), "outputs": hashes}))


def make(root):
    """Records of one file, a few sources, the page, and something in the place of each figure."""
    (root / "results/h200/search").mkdir(parents=True)
    (root / "page/figures").mkdir(parents=True)
    (root / figures.FOLDER).mkdir(parents=True)
    shutil.copy(source / "results/h200/peers-headline.json", root / "results/h200/a.json")
    shutil.copy(source / "results/h200/peers-gla.json", root / "results/h200/search/b.json")
    shutil.copy(source / "page/rows.js", root / "page")
    shutil.copy(source / "page/figures/index.js", root / "page/figures")
    for name in figures.outputs():
        (root / name).write_text(name)
    (root / "README.md").write_text("".join(f"[x]({name})\n" for name in figures.outputs()))
    figures.make_page(root, program, root / figures.PAGE)
    write_manifest(root)


def check(root):
    done = subprocess.run([sys.executable, source / "scripts/figures.py", "--root", root, "--program",
                           program, "--check"], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def edit(name, old, new):
    def change(root):
        text = (root / name).read_text()
        assert old in text, (name, old)
        (root / name).write_text(text.replace(old, new, 1))
    return change


def change_data(root):
    """As if the program wrote other data now than when the page was made."""
    page = root / figures.PAGE
    text = page.read_text()
    begin = text.index(">", text.index('<script id="data"')) + 1
    end = text.index("</script>", begin)
    data = zlib.decompress(base64.b64decode(text[begin:end]))
    assert b'"results/h200/a.json"' in data
    data = data.replace(b'"results/h200/a.json"', b'"results/h200/older.json"')
    page.write_text(text[:begin] + base64.b64encode(zlib.compress(data)).decode() + text[end:])
    write_manifest(root)


changes = [
    ("a record", edit("results/h200/a.json", '"status": "measured"', '"status":  "measured"'),
     "results/h200/a.json"),
    ("a new file of records", lambda root: shutil.copy(root / "results/h200/a.json",
                                                       root / "results/h200/c.json"),
     "results/h200/c.json"),
    ("a source of the page", edit("page/rows.js", "//", "///"), "page/rows.js"),
    ("a figure", edit(f"{figures.FOLDER}/{figures.FIGURES[0][0]}", "docs", "dogs"),
     figures.FIGURES[0][0]),
    ("a figure that is gone", lambda root: (root / figures.outputs()[1]).unlink(),
     figures.outputs()[1]),
    ("the program's data", change_data, "other data now: files"),
    ("a figure that no text shows", edit("README.md", f"[x]({figures.outputs()[1]})", ""),
     f"no text shows {figures.outputs()[1]}"),
    ("a text that shows what is not there", edit("README.md", "[x]", "[x](docs/none.svg) [x]"),
     "docs/none.svg, which is not there"),
    ("a page without data", lambda root: ((root / figures.PAGE).write_text("<p>"),
                                          write_manifest(root)), "no data block"),
    ("no manifest", lambda root: (root / figures.MANIFEST).unlink(), "is not there"),
]

failed = 0
with tempfile.TemporaryDirectory() as folder:
    good = Path(folder) / "good"
    make(good)
    code, text = check(good)
    if code != 0:
        failed += 1
        print(f"up to date, but: {code} {text}")
    for what, change, expected in changes:
        root = Path(folder) / "changed"
        shutil.copytree(good, root)
        change(root)
        code, text = check(root)
        if code != 1 or expected not in text:
            failed += 1
            print(f"{what}: found {code} {text!r}, expected 1 and {expected!r}")
        shutil.rmtree(root)
print(f"{len(changes)} changes, {failed} failures")
sys.exit(1 if failed else 0)
