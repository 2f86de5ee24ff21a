#!/usr/bin/env python3
"""The page of `report --html` in a headless Chromium: browser_test.py PROGRAM SOURCE_DIR FOLDER

One browser for all checks. Waits are for conditions, never for a time, so that a loaded machine
only takes longer.
"""
import json
import pathlib
import shutil
import sys
import traceback
import xml.etree.ElementTree as xml

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import records

program, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
patience = 60


def start():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--no-first-run", "--disable-extensions",
                     "--disable-background-networking", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_page_load_timeout(patience)
    driver.set_script_timeout(patience)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior",
                           {"behavior": "allow", "downloadPath": str(folder)})
    return driver


class Page:
    """A page in the browser, by what a reader sees and does."""

    def __init__(self, driver, path, fragment=""):
        self.driver = driver
        driver.get("about:blank")
        driver.get(f"{path.as_uri()}{'#' + fragment if fragment else ''}")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, what, condition):
        """Waits for a condition to give something, which it returns."""
        return WebDriverWait(self.driver, patience, 0.05).until(lambda _: condition(), what)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def fragment(self):
        return self.run("return location.hash.slice(1)")

    def count(self):
        """How many records the filters leave, as the page says it."""
        return int(self.text("#left").split(" of ")[0].replace(",", ""))

    def column(self, name):
        """The texts of a column of the lines that are in the document; None where it is not."""
        return self.run("""
            const heads = [...document.querySelectorAll('.records thead th')];
            const at = heads.findIndex(head => head.textContent === arguments[0]);
            return at < 0 ? null : [...document.querySelectorAll('.records tbody tr:not(.space)')]
              .map(line => line.children[at].textContent);""", name)

    def choose(self, facet, value):
        self.one(f'[data-facet="{facet}"] summary').click()
        box = self.until(f"{value} among {facet}", lambda: self.run("""
            return [...document.querySelectorAll('[data-facet="' + arguments[0] + '"] input')]
              .find(box => box.getAttribute('data-value') === arguments[1])""", facet, value))
        box.click()
        self.one(f'[data-facet="{facet}"] summary').click()

    def show(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        return self.one(selector)

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def same(found, expected):
    expect(found == expected, f"found {found!r}, expected {expected!r}")


checks = []


def check(function):
    checks.append(function)
    return function


@check
def loads_nothing_and_complains_of_nothing(driver):
    page = Page(driver, pages["h200"])
    same(page.run("return performance.getEntriesByType('resource').length"), 0)
    same(page.run("return document.querySelectorAll('.broken, [role=alert]').length"), 0)
    total = sum(len(json.loads(path.read_text())["records"]) for path in h200_files)
    same(page.text("#left").split(" of ")[1], f"{total:,} records")
    expect("verified against float64" in page.text("#verdict"), page.text("#verdict"))


@check
def draws_every_figure(driver):
    page = Page(driver, pages["h200"])
    figures = page.run("return [...document.querySelectorAll('.card')].map(card => card.id)")
    for figure in figures:
        page.show(f"#{figure}")
        drawn = page.until(f"{figure} is drawn", lambda at=figure: page.run(
            "return document.querySelector('#' + arguments[0] + ' .drawing').textContent", at))
        expect("This figure failed" not in drawn, f"{figure}: {drawn}")


@check
def filters_hold_across_views_and_live_in_the_address(driver):
    page = Page(driver, pages["h200"], "all")
    everything = page.count()
    page.choose("operator", "gla")
    page.choose("dtype", "float16")
    some = page.count()
    expect(0 < some < everything, f"{some} of {everything}")
    same(page.fragment(), "operator=gla&dtype=float16")
    same(page.text(".tools .count").split(" ")[0], f"{some:,}")
    again = Page(driver, pages["h200"], page.fragment())
    same(again.count(), some)
    again.run("location.hash = '#operator=softmax'")
    again.until("the table follows the address",
                lambda: all(text.startswith("B=") and "columns" in text
                            for text in again.column("shape")))
    again.one(".reset").click()
    same(again.count(), everything)
    same(again.fragment(), "all")


@check
def a_section_is_reached_though_figures_above_are_drawn_late(driver):
    page = Page(driver, pages["h200"], "operator=gla&view=table")
    top = "return document.querySelector('#section-table').getBoundingClientRect().top"
    page.until("the section is on top", lambda: 0 <= page.run(top) < 200)
    page.one('nav [data-view="peers"]').click()
    top = top.replace("table", "peers")
    page.until("the section is on top", lambda: 0 <= page.run(top) < 200)


@check
def a_list_of_choices_is_narrowed_and_closed_by_keys(driver):
    page = Page(driver, pages["h200"], "all")
    summary = page.one('[data-facet="shape"] summary')
    summary.send_keys(Keys.ENTER)
    field = page.until("the list is open", lambda: page.one('[data-facet="shape"] input[type=search]'))
    field.send_keys("T=32768 H=16")
    shown = [item.text for item in page.all('[data-facet="shape"] li') if item.is_displayed()]
    expect(shown and all("T=32768" in text and "H=16" in text for text in shown), str(shown))
    field.send_keys(Keys.ESCAPE)
    same(page.run("return document.querySelector('[data-facet=shape]').open"), False)
    same(page.run("return document.activeElement.tagName"), "SUMMARY")


@check
def sorts_and_searches_the_table(driver):
    page = Page(driver, pages["h200"], "operator=gla&dtype=bfloat16&search=chunk_sm90")
    expect("chunk_sm90 \u00b7 gla \u00b7 forward" in page.text(".tools .count"), "said once")
    same(page.column("variant"), None)
    page.show(".records")
    head = lambda: page.one('.records th[data-key="tflops"]')
    for direction in ("ascending", "descending"):
        head().find_element(By.TAG_NAME, "button").click()
        same(head().get_attribute("aria-sort"), direction)
        texts = [text.replace(",", "") for text in page.column("TFLOP/s")]
        values = [float(text) for text in texts if text != "\u2013"]
        expect(len(values) > 5, str(texts))
        same(values, sorted(values, reverse=direction == "descending"))
    expect("sort=-tflops" in page.fragment(), page.fragment())


@check
def a_record_opens_with_its_command(driver):
    page = Page(driver, pages["h200"], "operator=gla&search=chunk_sm90 measured")
    page.show(".scroller").send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    panel = page.until("the panel is open", lambda: page.one("dialog[open]"))
    command = panel.find_element(By.CSS_SELECTOR, "pre").text
    expect(command.startswith("gla-bench repeat '{\"variant\":\"chunk_sm90\""), command)
    driver.execute_cdp_cmd("Browser.grantPermissions",
                           {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    button = panel.find_element(By.CSS_SELECTOR, ".copy")
    button.click()
    page.until("it says that it copied", lambda: button.text == "Copied")
    same(driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))"), command)
    ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    page.until("the panel is closed", lambda: not page.all("dialog[open]"))


def figure_with_marks(page):
    """The first card whose drawing has marks."""
    for card in page.all(".card"):
        page.run("arguments[0].scrollIntoView({block: 'center'})", card)
        page.until("it is drawn", lambda at=card: at.find_element(By.CSS_SELECTOR, ".drawing > *"))
        if card.find_elements(By.CSS_SELECTOR, "svg .mark"):
            return card
    raise AssertionError("no figure has marks")


@check
def hovering_shows_the_record(driver):
    page = Page(driver, pages["h200"])
    card = figure_with_marks(page)
    mark = card.find_elements(By.CSS_SELECTOR, "svg .mark")[0]
    page.run("""const box = arguments[0].getBoundingClientRect();
        arguments[0].dispatchEvent(new PointerEvent('pointermove', {bubbles: true,
          clientX: box.x + box.width / 2, clientY: box.y + box.height / 2}))""", mark)
    page.until("the note is shown", lambda: page.one(".note").is_displayed())
    expect(len(page.text(".note dl")) > 10, page.text(".note"))
    box = page.run("""const {left, top, right, bottom} =
        document.querySelector('.note').getBoundingClientRect();
        return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight""")
    expect(box, "the note leaves the window")


@check
def figures_are_reached_by_keys(driver):
    page = Page(driver, pages["h200"])
    card = figure_with_marks(page)
    svg = card.find_element(By.CSS_SELECTOR, "svg")
    same(svg.get_attribute("tabindex"), "0")
    page.run("arguments[0].focus()", svg)
    ActionChains(driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    page.until("the note is shown", lambda: page.one(".note").is_displayed())
    same(len(card.find_elements(By.CSS_SELECTOR, ".mark.focused")), 1)
    ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    expect(not page.one(".note").is_displayed(), "Escape hides the note")


@check
def a_figure_is_saved_as_svg_and_png(driver):
    page = Page(driver, pages["h200"], "operator=gla&theme=dark")
    card = figure_with_marks(page)
    name = "gla-bench-" + card.get_attribute("id")[len("figure-"):]
    for kind in ("svg", "png"):
        file = folder / f"{name}.{kind}"
        file.unlink(missing_ok=True)
        page.run("arguments[0].click()", card.find_element(By.CSS_SELECTOR, f'[data-save="{kind}"]'))
        page.until(f"{file.name} is there", lambda at=file: at.exists() and at.stat().st_size > 0)
    root = xml.parse(folder / f"{name}.svg").getroot()
    same(root.tag, "{http://www.w3.org/2000/svg}svg")
    texts = [node for node in root.iter("{http://www.w3.org/2000/svg}text")]
    expect(len(texts) > 0, "it has no texts")
    expect(root.get("fill") and root.get("font-family"), "the drawing has no colour of its own")
    text = (folder / f"{name}.svg").read_text()
    for needs in ("var(", " class=", " style=", "tabindex", "data-"):
        expect(needs not in text, f"it has {needs}")
    nodes = sum(1 for _ in root.iter())
    expect(len(text) < 1500 + 200 * nodes, f"{len(text)} bytes for {nodes} nodes")
    png = (folder / f"{name}.png").read_bytes()
    expect(png.startswith(b"\x89PNG\r\n") and len(png) > 5000, f"{len(png)} bytes")
    width = int.from_bytes(png[16:20], "big")
    expect(abs(width - 2 * float(root.get("width"))) <= 2, f"{width} pixels")


@check
def dark_and_light_by_the_system_and_by_the_reader(driver):
    def ground():
        return page.run("return getComputedStyle(document.body).backgroundColor")

    def system(scheme):
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    system("light")
    page = Page(driver, pages["one"])
    light = ground()
    system("dark")
    page.until("the page follows the system", lambda: ground() != light)
    page.one(".theme").click()
    same(ground(), light)
    expect("theme=light" in page.fragment(), page.fragment())
    system("light")


@check
def narrow_screens_do_not_scroll_sideways(driver):
    try:
        for width in (360, 800, 1900):
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
            page = Page(driver, pages["h200"])
            for card in page.all(".card"):
                page.run("arguments[0].scrollIntoView()", card)
            wide = page.run("return document.documentElement.scrollWidth")
            expect(wide <= width, f"{wide} pixels wide in a window of {width}")
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@check
def prints_everything_on_white(driver):
    page = Page(driver, pages["h200"], "operator=gla&dtype=bfloat16&theme=dark")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    drawn = page.run("""return [...document.querySelectorAll('.drawing')]
        .filter(node => node.children.length === 0).length""")
    same(drawn, 0)
    expect(len(page.column("variant")) > 100, "the table is not cut to what was in sight")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    same(page.run("return getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
    expect(not page.one("nav").is_displayed(), "the navigation is not printed")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.run("window.dispatchEvent(new Event('afterprint'))")
    expect(len(page.column("variant")) < 100, "the table is whole again")


@check
def failures_come_first_with_their_commands(driver):
    page = Page(driver, pages["failing"])
    same(page.text("#verdict"), "5 failures among 12 candidates")
    items = page.run("return [...document.querySelectorAll('.failures li')].map(i => i.textContent)")
    same(len(items), 5)
    for status, item in zip(("wrong", "crashed", "timeout", "build_failed", "run_failed"), items):
        expect(f"planted: {status}" in item and "gla-bench repeat" in item, item)


@check
def an_empty_file_says_so(driver):
    page = Page(driver, pages["empty"])
    same(page.text("#left"), "0 of 0 records")
    same(page.text("#verdict"), "Nothing was tried")
    same(page.column("variant"), ["No record fits."])


@check
def one_record_is_a_page(driver):
    page = Page(driver, pages["one"])
    same(page.text("#left"), "1 of 1 records")
    same(len(page.column("variant")), 1)
    expect("no other was right" in page.text("#answer"), page.text("#answer"))


@check
def twenty_thousand_records_stay_fluent(driver):
    page = Page(driver, pages["many"], "all")
    same(page.count(), 20000)
    expect(len(page.column("variant")) < 100, "lines that nobody sees are in the document")
    page.run("document.querySelector('.scroller').scrollTop = 1e9")
    page.until("the last line is there",
               lambda: page.all('.records tr[aria-rowindex="20001"]'))
    took = page.run("""const start = performance.now();
        document.querySelector('.records th[data-key="hot_ms"] button').click();
        document.querySelector('.records th[data-key="shape"] button').click();
        return performance.now() - start""")
    expect(took < 3000, f"two sorts took {took:.0f} ms")


@check
def hostile_strings_stay_text(driver):
    page = Page(driver, pages["hostile"], "all")
    for card in page.all(".card"):
        page.run("arguments[0].scrollIntoView()", card)
        page.until("it is drawn", lambda at=card: at.find_element(By.CSS_SELECTOR, ".drawing > *"))
    expect(records.hostile in page.text(".failures"), page.text(".failures"))
    page.one('[data-facet="variant"] summary').click()
    page.run("document.querySelector('.failures button.link').click()")
    expect(records.hostile in page.text("dialog[open]"), page.text("dialog[open]"))
    same(page.run("return window.hacked === undefined"), True)
    same(page.run("return document.querySelectorAll('img, iframe, object, embed').length"), 0)
    same(page.run("return document.scripts.length"), 2)
    page.run("""const script = document.createElement('script');
        script.textContent = 'window.hacked = 1'; document.body.append(script)""")
    same(page.run("return window.hacked === undefined"), True)
    refused = page.complaints()
    expect(any("Content Security Policy" in text for text in refused), str(refused))


def main():
    driver = start()
    failed = 0
    try:
        for function in checks:
            try:
                function(driver)
                complaints = [entry["message"] for entry in driver.get_log("browser")]
                expect(not complaints, "\n".join(complaints))
                print(f"ok {function.__name__}", flush=True)
            except Exception:  # the other checks still say what they have to say
                failed += 1
                print(f"FAILED {function.__name__}\n{traceback.format_exc()}", flush=True)
                driver.save_screenshot(str(folder / f"{function.__name__}.png"))
    finally:
        driver.quit()
    print(f"{len(checks)} checks, {failed} failed")
    return 1 if failed or not checks else 0


h200_files = sorted((source / "results" / "h200").glob("*.json"))
if __name__ == "__main__":
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = {
        "h200": records.page_of(program, h200_files, folder / "h200.html"),
        "many": records.page_of(program, [records.many(source, 20000)], folder / "many.html")}
    for name, make in (("empty", records.empty), ("one", records.one), ("failing", records.failing),
                       ("hostile", records.with_hostile_strings)):
        pages[name] = records.page_of(program, [make(source)], folder / f"{name}.html")
    sys.exit(main())
