"""What a reader does with the page: filters, table, panel, hover, keys, saving."""
import xml.etree.ElementTree as xml

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Page, check, expect, same


@check
def filters_hold_across_views_and_live_in_the_address(driver, pages):
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
def back_undoes_a_filter_and_forward_sets_it_again(driver, pages):
    page = Page(driver, pages["h200"], "operator=gla")
    before = page.count()
    page.choose("dtype", "float16")
    after = page.count()
    expect(after < before, f"{after} of {before}")
    driver.back()
    page.until("the filter is gone", lambda: page.fragment() == "operator=gla")
    page.until("all of it is shown", lambda: page.count() == before)
    driver.forward()
    page.until("the filter is back", lambda: page.fragment() == "operator=gla&dtype=float16")
    page.until("a part is shown", lambda: page.count() == after)


@check
def a_section_is_reached_though_figures_above_are_drawn_late(driver, pages):
    page = Page(driver, pages["h200"], "operator=gla&view=table")
    top = "return document.querySelector('#section-table').getBoundingClientRect().top"
    page.until("the section is on top", lambda: 0 <= page.run(top) < 200)
    page.one('nav [data-view="peers"]').click()
    top = top.replace("table", "peers")
    page.until("the section is on top", lambda: 0 <= page.run(top) < 200)


@check
def a_list_of_choices_is_narrowed_and_closed_by_keys(driver, pages):
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
def sorts_and_searches_the_table(driver, pages):
    page = Page(driver, pages["h200"], "operator=gla&direction=forward&dtype=bfloat16&search=chunk_sm90")
    expect("chunk_sm90 \u00b7 gla \u00b7 forward" in page.text(".tools .count"), "said once")
    same(page.column("variant"), None)
    page.show(".records")
    head = lambda: page.one('.records th[data-key="tflop_per_s"]')
    for direction in ("ascending", "descending"):
        head().find_element(By.TAG_NAME, "button").click()
        same(head().get_attribute("aria-sort"), direction)
        texts = [text.replace(",", "") for text in page.column("TFLOP/s")]
        values = [float(text) for text in texts if text != "\u2013"]
        expect(len(values) > 5, str(texts))
        same(values, sorted(values, reverse=direction == "descending"))
    expect("sort=-tflop_per_s" in page.fragment(), page.fragment())


@check
def a_record_opens_with_its_command(driver, pages):
    page = Page(driver, pages["h200"], "operator=gla&dtype=bfloat16")
    page.one(".tools input").send_keys("chunk_sm90 measured")
    page.until("the table is searched", lambda: "search=chunk_sm90" in page.fragment())
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
def hovering_shows_the_record(driver, pages):
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
def figures_are_reached_by_keys(driver, pages):
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
def a_figure_is_saved_as_svg_and_png(driver, pages):
    page = Page(driver, pages["h200"], "operator=gla&theme=dark")
    card = figure_with_marks(page)
    name = "gla-bench-" + card.get_attribute("id")[len("figure-"):]
    for kind in ("svg", "png"):
        file = pages["h200"].parent / f"{name}.{kind}"
        file.unlink(missing_ok=True)
        page.run("arguments[0].click()", card.find_element(By.CSS_SELECTOR, f'[data-save="{kind}"]'))
        page.until(f"{file.name} is there", lambda at=file: at.exists() and at.stat().st_size > 0)
    folder = pages["h200"].parent
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
