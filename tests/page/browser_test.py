#!/usr/bin/env python3
"""The page of `report --html` in a headless Chromium: browser_test.py PROGRAM SOURCE_DIR FOLDER

One browser for all checks (use_checks.py, data_checks.py).
"""
import json
import pathlib
import shutil
import sys
import traceback

import browser
import data_checks  # noqa: F401, registers checks
import records
import use_checks  # noqa: F401, registers checks

program, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])


def make_pages():
    """Paths of pages by name."""
    committed = sorted((source / "results" / "h200").glob("*.json"))
    base, slower = records.twice(source)
    (folder / "base.json").write_text(json.dumps(base))
    content = {"h200": committed, "many": [records.many(source, 20000)],
               "empty": [records.empty(source)], "one": [records.one(source)],
               "failing": [records.failing(source)],
               "hostile": [records.with_hostile_strings(source)]}
    pages = {name: records.page_of(program, files, folder / f"{name}.html")
             for name, files in content.items()}
    pages["compared"] = records.page_of(program, [slower], folder / "compared.html", "--against",
                                        str(folder / "base.json"))
    return pages


def run(driver, pages):
    """How many checks failed."""
    failed = 0
    for check in browser.checks:
        try:
            check(driver, pages)
            complaints = [entry["message"] for entry in driver.get_log("browser")]
            browser.expect(not complaints, "\n".join(complaints))
            print(f"ok {check.__name__}", flush=True)
        except Exception:  # the other checks still say what they have to say
            failed += 1
            print(f"FAILED {check.__name__}\n{traceback.format_exc()}", flush=True)
            driver.save_screenshot(str(folder / f"{check.__name__}.png"))
    print(f"{len(browser.checks)} checks, {failed} failed")
    return failed


if __name__ == "__main__":
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = make_pages()
    chromium = browser.start(folder)
    try:
        sys.exit(1 if run(chromium, made) or not browser.checks else 0)
    finally:
        chromium.quit()
