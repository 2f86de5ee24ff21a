"""A headless Chromium for tests of the page, and the page by what a reader sees and does.

Waits are for conditions, never for a time, so that a loaded machine only takes longer.
"""
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

patience = 60


def start(folder):
    """A browser that saves files into `folder`."""
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
        raise AssertionError(str(message)[:2000])


def same(found, expected):
    expect(found == expected, f"found {found!r}, expected {expected!r}")


checks = []


def check(function):
    """One of the checks: a function of the browser and the paths of the pages by name."""
    checks.append(function)
    return function
