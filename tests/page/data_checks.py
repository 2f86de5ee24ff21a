"""What the page makes of its data, on all grounds: records of all kinds, none, many, hostile ones."""
import json
import pathlib

from selenium.webdriver.common.by import By

import records
from browser import Page, check, expect, same

committed = (pathlib.Path(__file__).parents[2] / "results" / "h200").glob("*.json")


@check
def loads_nothing_and_complains_of_nothing(driver, pages):
    page = Page(driver, pages["h200"])
    same(page.run("return performance.getEntriesByType('resource').length"), 0)
    same(page.run("return document.querySelectorAll('.broken, [role=alert]').length"), 0)
    total = sum(len(json.loads(path.read_text())["records"]) for path in committed)
    same(page.text("#left").split(" of ")[1], f"{total:,} records")
    expect("verified against float64" in page.text("#verdict"), page.text("#verdict"))


@check
def draws_every_figure(driver, pages):
    page = Page(driver, pages["h200"])
    figures = page.run("return [...document.querySelectorAll('.card')].map(card => card.id)")
    for figure in figures:
        page.show(f"#{figure}")
        drawn = page.until(f"{figure} is drawn", lambda at=figure: page.run(
            "return document.querySelector('#' + arguments[0] + ' .drawing').textContent", at))
        expect("This figure failed" not in drawn, f"{figure}: {drawn}")


@check
def dark_and_light_by_the_system_and_by_the_reader(driver, pages):
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
def narrow_screens_do_not_scroll_sideways(driver, pages):
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
def prints_everything_on_white(driver, pages):
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
def failures_come_first_with_their_commands(driver, pages):
    page = Page(driver, pages["failing"])
    same(page.text("#verdict"), "5 failures among 12 candidates")
    items = page.run("return [...document.querySelectorAll('.failures li')].map(i => i.textContent)")
    same(len(items), 5)
    for status, item in zip(("wrong", "crashed", "timeout", "build_failed", "run_failed"), items):
        expect(f"planted: {status}" in item and "gla-bench repeat" in item, item)


@check
def two_runs_are_compared_where_there_are_two(driver, pages):
    page = Page(driver, pages["compared"])
    page.show("#figure-comparison")
    drawing = page.until("the verdicts are drawn",
                         lambda: page.text("#figure-comparison .drawing"))
    same(page.run("return document.querySelectorAll('#figure-comparison svg').length"), 1)
    expect("39 same" in drawing and "1 slower" in drawing, drawing)
    same(Page(driver, pages["one"]).all("#section-comparison"), [])


@check
def an_empty_file_says_so(driver, pages):
    page = Page(driver, pages["empty"])
    same(page.text("#left"), "0 of 0 records")
    same(page.text("#verdict"), "Nothing was tried")
    same(page.column("variant"), ["No record fits."])


@check
def one_record_is_a_page(driver, pages):
    page = Page(driver, pages["one"])
    same(page.text("#left"), "1 of 1 records")
    same(len(page.column("variant")), 1)
    expect("no other was right" in page.text("#answer"), page.text("#answer"))


@check
def twenty_thousand_records_stay_fluent(driver, pages):
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
def hostile_strings_stay_text(driver, pages):
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
