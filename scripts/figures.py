#!/usr/bin/env python3
"""Makes the page over the committed records, and the figures and pictures of it in the docs.

    figures.py --program build/gla-bench            makes them all, and the manifest
    figures.py --program build/gla-bench --check    says what is out of date, exit code 1

The figures are the page's own, saved as a reader saves them, so that they are drawn in one place. They
need chromium, chromium-driver and python3-selenium (scripts/setup.sh); the check needs none of them: it
holds the records, the page's sources and the files made of them against docs/figures/manifest.json, and
the data of the committed page against what the program makes of the records now.
"""

import argparse
import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

PAGE = "results/h200.html"
FOLDER = "docs/figures"
MANIFEST = f"{FOLDER}/manifest.json"
TEXTS = ["README.md", "docs/*.md", "results/*.md"]
RECORDS = ["results/h200/*.json", "results/h200/search/*.json"]
SOURCES = ["page/*.js", "page/*.css", "page/*.html", "page/figures/*.js"]

ONE_SHAPE = "B%3D1+T%3D32768+H%3D16+K%3D128+V%3D128"
GLA = "operator=gla&direction=forward&dtype=bfloat16"
# A figure of the page as SVG: file, figure, state of the page, width of the window. Rooflines are of mild
# gates: of strong ones `parallel` skips what has decayed, which its count of operations does not.
FIGURES = [
    ("time.svg", "time", f"{GLA}&gate=mild&theme=light", 1200),
    ("peers.svg", "peers", f"{GLA}&theme=light", 1200),
    ("roofline.svg", "roofline", f"{GLA}&gate=mild&theme=light", 1200),
    ("operators.svg", "operators", "direction=forward&dtype=bfloat16&theme=light", 1200),
]
# What a reader sees of it: file, section or figure at the top, state, width and height of the window.
PICTURES = [
    ("page-winners.png", "#section-wins", f"{GLA}&shape={ONE_SHAPE}&theme=light", 1280, 800),
    ("page-why.png", "#section-why", f"{GLA}&gate=mild&theme=light", 1280, 800),
    ("page-dark.png", "#section-cost", f"{GLA}&theme=dark", 1280, 800),
]


class Stale(Exception):
    """What is out of date, and why."""


def listed(root, patterns):
    return sorted({path.relative_to(root).as_posix() for pattern in patterns
                   for path in root.glob(pattern)})


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def inputs_of(root):
    """Everything that the outputs come of, but for the program, whose data are compared."""
    hashes = {name: digest(root / name) for name in listed(root, RECORDS + SOURCES)}
    states = json.dumps([FIGURES, PICTURES]).encode()
    hashes["figures and pictures"] = hashlib.sha256(states).hexdigest()
    return hashes


def outputs():
    return [PAGE] + [f"{FOLDER}/{figure[0]}" for figure in FIGURES + PICTURES]


def make_page(root, program, target):
    """The page over all records. The program runs in the root, so that it names files as readers do."""
    command = [str(Path(program).resolve()), "report", *listed(root, RECORDS), "--html", str(target)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"figures.py: {' '.join(command[:2])} ended with {done.returncode}: "
                         f"{done.stderr.strip()}")


def data_of(page):
    """The JSON inside a page, without what follows the program's sources and not the records: which of
    them are stale."""
    found = re.search(r'<script id="data"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    if not found:
        raise Stale(f"{page}: holds no data block")
    try:
        data = json.loads(zlib.decompress(base64.b64decode(found.group(1), validate=True)))
    except (ValueError, zlib.error):
        raise Stale(f"{page}: its data block is not what the program writes") from None
    data.get("columns", {}).pop("stale", None)
    return data


def start_browser(downloads):
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        raise SystemExit("figures.py: python3-selenium is not there for this Python; scripts/setup.sh "
                         "installs it for the system's: /usr/bin/python3 scripts/figures.py") from None
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    driver.execute_cdp_cmd("Browser.setDownloadBehavior",
                           {"behavior": "allow", "downloadPath": str(downloads)})
    return driver


def waited(what, condition, seconds=60):
    """What the condition gives once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise SystemExit(f"figures.py: waited {seconds} s for {what}")


class Browser:
    def __init__(self, page, downloads):
        self.page, self.downloads = page, downloads
        self.driver = start_browser(downloads)

    def open(self, state, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")
        self.driver.get(f"{self.page.as_uri()}#{state}")
        waited("the page", lambda: self.run("return document.querySelector('main section') !== null"))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def drawn(self, figure):
        """Brings a figure into sight and waits until it is drawn."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", figure)
        waited(f"{figure} to be drawn", lambda: self.run(
            "return document.querySelector(arguments[0] + ' .drawing svg') !== null", figure))

    def save_figure(self, figure, target):
        self.drawn(f"#figure-{figure}")
        for old in self.downloads.iterdir():
            old.unlink()
        self.run("document.querySelector(arguments[0]).click()", f'#figure-{figure} [data-save="svg"]')
        saved = waited(f"{figure} to be saved", lambda: list(self.downloads.glob("*.svg")))[0]
        target.write_bytes(saved.read_bytes())

    def photograph(self, selector, target):
        """What the window shows with the element at its top, below the bar that stays."""
        place = """
            const top = document.querySelector(arguments[0]).getBoundingClientRect().top;
            const bar = document.querySelector('header.top').getBoundingClientRect().height;
            window.scrollBy(0, top - bar - 8);"""
        self.run(place, selector)
        waited("what is in sight to be drawn", lambda: self.run("""
            return [...document.querySelectorAll('.card')].every(card => {
              const box = card.getBoundingClientRect();
              const seen = box.bottom > 0 && box.top < window.innerHeight;
              return !seen || card.querySelector('.drawing').childElementCount > 0;
            });"""))
        self.run(place, selector)  # what was drawn has moved it
        self.driver.save_screenshot(str(target))

    def close(self):
        self.driver.quit()


def make_all(root, program):
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    make_page(root, program, root / PAGE)
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(root / PAGE, Path(folder))
        try:
            for name, figure, state, width in FIGURES:
                browser.open(state, width, 900)
                browser.save_figure(figure, root / FOLDER / name)
            for name, selector, state, width, height in PICTURES:
                browser.open(state, width, height)
                browser.photograph(selector, root / FOLDER / name)
        finally:
            browser.close()
    manifest = {"inputs": inputs_of(root), "outputs": {name: digest(root / name) for name in outputs()}}
    (root / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    for name in outputs():
        print(f"{name}: {(root / name).stat().st_size} bytes")


def differing(recorded, present):
    return sorted(name for name in recorded.keys() | present.keys()
                  if recorded.get(name) != present.get(name))


def check_manifest(root):
    if not (root / MANIFEST).exists():
        raise Stale(f"{MANIFEST} is not there")
    manifest = json.loads((root / MANIFEST).read_text())
    changed = differing(manifest["inputs"], inputs_of(root))
    if changed:
        raise Stale("made of what has changed since: " + ", ".join(changed))
    present = {name: digest(root / name) for name in outputs() if (root / name).exists()}
    changed = differing(manifest["outputs"], present)
    if changed:
        raise Stale("not what the script made: " + ", ".join(changed))


def check_texts(root):
    """Each figure is shown somewhere, and what is shown is there."""
    shown = set()
    for name in listed(root, TEXTS):
        for link in re.findall(r"\]\(([^)#\s]+\.(?:svg|png|html))[^)]*\)", (root / name).read_text()):
            if "://" in link:
                continue
            target = (root / name).parent.joinpath(link).resolve()
            if not target.exists():
                raise Stale(f"{name} shows {link}, which is not there")
            shown.add(target)
    unused = [name for name in outputs() if (root / name).resolve() not in shown]
    if unused:
        raise Stale("no text shows " + ", ".join(unused))


def check_data(root, program):
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "page.html"
        make_page(root, program, fresh)
        old, new = data_of(root / PAGE), data_of(fresh)
    parts = [key for key in old.keys() | new.keys() if old.get(key) != new.get(key)]
    if parts:
        raise Stale(f"{PAGE}: the program writes other data now: " + ", ".join(sorted(parts)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/gla-bench", help="gla-bench (default: %(default)s)")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent,
                        help="of the repository")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when stale")
    options = parser.parse_args()
    root = options.root.resolve()
    if not options.check:
        make_all(root, options.program)
        return 0
    try:
        check_manifest(root)
        check_texts(root)
        check_data(root, options.program)
    except Stale as stale:
        print(f"{stale}; run scripts/figures.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
