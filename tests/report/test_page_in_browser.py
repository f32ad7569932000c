"""The page of a study in a real browser: what people see, on a wide screen, on a phone, in the dark and on paper."""

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.report.folders import ONE_GAME, SMALL, only_svg, reproduction, study

from lewa.report.study_report import write_report

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium is not installed: apt install chromium chromium-driver"
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MANY_LEARNERS = SMALL.replace("[100, 300, 1000]", "[30, 100, 300]") + "".join(
    f'\n[[learners]]\nname = "lewa"\nsettings = {{ eta = {eta} }}\n' for eta in (0.001, 0.01, 0.03, 0.1, 0.3)
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    with only_svg():
        one = write_report(study(folder / "study", MANY_LEARNERS))
        all_of_them = write_report(reproduction(folder / "all", study(folder / "small", ONE_GAME)))
    return {"study": one.as_uri(), "reproduction": all_of_them.as_uri()}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))  # told where it is, it fetches nothing
    yield driver
    driver.quit()


@pytest.fixture(params=["study", "reproduction"])
def shown(request: pytest.FixtureRequest, browser: Any, pages: dict[str, str]) -> Any:
    """A page on a wide screen in the light, everything unfolded."""
    seen_on(browser, 1280)
    browser.get_log("browser")
    browser.get(pages[request.param])
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    return browser


def seen_on(browser: Any, width: int, media: str = "screen", scheme: str = "light") -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def test_nothing_goes_wrong_and_nothing_is_fetched(shown: Any) -> None:
    assert shown.get_log("browser") == []
    assert shown.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert shown.execute_script("return document.compatMode") == "CSS1Compat"


def test_figures_are_there_and_can_be_seen(shown: Any) -> None:
    sizes = shown.execute_script(
        "return [...document.querySelectorAll('figure svg')].map((one) => {"
        " const box = one.getBoundingClientRect(), paths = [...one.querySelectorAll('path')];"
        " return [box.width, box.height, Math.max(...paths.map((path) => path.getBoundingClientRect().width))] })"
    )
    assert len(sizes) >= 18
    for width, height, ink in sizes:
        assert width > 300
        assert height > 60
        assert ink > 50


OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll("figure svg")) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
  texts.forEach(([said, box], n) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      found.push(`${said} leaves ${svg.getAttribute("aria-label")}`);
    for (const [other, next] of texts.slice(n + 1)) {
      const across = Math.min(box.right, next.right) - Math.max(box.left, next.left);
      const down = Math.min(box.bottom, next.bottom) - Math.max(box.top, next.top);
      if (across > 1 && down > 0.45 * box.height) found.push(`${said} and ${other} in ${svg.getAttribute("aria-label")}`);
    }
  });
}
return found;
"""


@pytest.mark.parametrize("width", [1280, 360])
def test_words_in_figures_neither_overlap_nor_are_cut(shown: Any, width: int) -> None:
    seen_on(shown, width)
    assert shown.execute_script(OVERLAPS) == []


@pytest.mark.parametrize("width", [320, 360, 390, 768, 1024, 1280, 1500])
def test_the_page_never_scrolls_sideways(shown: Any, width: int) -> None:
    seen_on(shown, width)
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width


def test_it_fits_a_sheet_of_paper_and_is_printed_light(shown: Any) -> None:
    seen_on(shown, 718, media="print", scheme="dark")
    assert shown.execute_script("return document.documentElement.scrollWidth") <= 718
    assert shown.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_what_is_folded_is_unfolded_for_printing(shown: Any) -> None:
    opened = "return document.querySelectorAll('main details[open]').length"
    shown.execute_script("document.querySelectorAll('main details').forEach((one) => { one.open = false; })")
    shown.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert shown.execute_script(opened) == shown.execute_script("return document.querySelectorAll('main details').length")
    shown.execute_script("dispatchEvent(new Event('afterprint'))")
    assert shown.execute_script(opened) == 0


def test_the_dark_has_other_colours_that_can_be_read(shown: Any) -> None:
    look = (
        "const of = (one, what) => getComputedStyle(one)[what], svg = document.querySelector('figure svg');"
        "return [of(document.body, 'backgroundColor'), of(document.body, 'color'),"
        " of(document.querySelector('td.yes'), 'color'),"
        " ...[...svg.querySelectorAll('text')].map((one) => of(one, 'fill'))]"
    )
    light = shown.execute_script(look)
    seen_on(shown, 1280, scheme="dark")
    dark = shown.execute_script(look)
    assert all(one != other for one, other in zip(light, dark, strict=True))
    for paper, *words in (light, dark):
        assert all(contrast(paper, word) >= 3.5 for word in words), (paper, words)


def contrast(one: str, other: str) -> float:
    """As the guidelines for accessibility count it; large words need 3, small ones 4.5."""

    def lightness(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((lightness(one), lightness(other)))
    return (high + 0.05) / (low + 0.05)


# Tables ------------------------------------------------------------------------------------------------------------------


def column(browser: Any, name: str) -> tuple[Any, list[str], list[Any]]:
    """A heading of the first table, what stands below it, and the numbers that it is sorted by."""
    head, texts, values = browser.execute_script(
        "const table = document.querySelector('table'), heads = [...table.tHead.rows[0].cells];"
        "const n = heads.findIndex((one) => one.textContent === arguments[0]);"
        "const cells = [...table.tBodies[0].rows].map((row) => row.cells[n]);"
        "return [heads[n], cells.map((one) => one.textContent),"
        " cells.map((one) => 'value' in one.dataset ? Number(one.dataset.value) : null)]",
        name,
    )
    return head, texts, values


@pytest.mark.parametrize("shown", ["study"], indirect=True)
def test_numbers_are_sorted_as_numbers_and_back(shown: Any) -> None:
    head, _, before = column(shown, "regret")
    button = head.find_element("css selector", "button")
    button.click()
    head, texts, up = column(shown, "regret")
    assert up == sorted(before)
    assert up != before
    assert texts != sorted(texts)  # as words they would stand otherwise
    assert head.get_attribute("aria-sort") == "ascending"
    button.click()
    head, _, down = column(shown, "regret")
    assert down == sorted(before, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("shown", ["study"], indirect=True)
def test_rows_stay_whole_and_only_one_column_is_sorted(shown: Any) -> None:
    pairs = set(zip(column(shown, "learner")[1], column(shown, "regret")[1], strict=True))
    for name in ("regret", "learner"):
        column(shown, name)[0].find_element("css selector", "button").click()
    assert set(zip(column(shown, "learner")[1], column(shown, "regret")[1], strict=True)) == pairs
    words = column(shown, "learner")[1]
    assert words == sorted(words)
    assert column(shown, "regret")[0].get_attribute("aria-sort") is None


@pytest.mark.parametrize("shown", ["reproduction"], indirect=True)
def test_what_has_no_number_stays_at_the_end(shown: Any) -> None:
    button = column(shown, "bound")[0].find_element("css selector", "button")
    shown.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    for _ in range(2):
        button.click()
        assert column(shown, "bound")[2] == [48.9, None]


@pytest.mark.parametrize("shown", ["study"], indirect=True)
def test_the_keyboard_sorts_too(shown: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    head, _, before = column(shown, "violation")
    shown.execute_script("arguments[0].querySelector('button').focus()", head)
    shown.switch_to.active_element.send_keys(Keys.ENTER)
    head, _, after = column(shown, "violation")
    assert after == sorted(before)
    assert head.get_attribute("aria-sort") == "ascending"


# Contents ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown", ["reproduction"], indirect=True)
def test_contents_and_claims_lead_to_their_study(shown: Any) -> None:
    for link in ("nav a[href='#two']", "table a[href='#two']"):
        shown.execute_script("document.documentElement.style.scrollBehavior = 'auto'; scrollTo(0, 0)")
        shown.find_element("css selector", link).click()
        top = shown.execute_script("return document.getElementById('two').getBoundingClientRect().top")
        assert 0 <= top < 800


@pytest.mark.parametrize("shown", ["reproduction"], indirect=True)
def test_contents_stand_beside_the_page_where_there_is_room(shown: Any) -> None:
    seen_on(shown, 1500)
    shown.refresh()
    assert shown.find_element("css selector", "nav li a").is_displayed()
    right = shown.execute_script("return document.querySelector('nav').getBoundingClientRect().right")
    assert right <= shown.execute_script("return document.querySelector('main').getBoundingClientRect().left")
    seen_on(shown, 1000)
    shown.refresh()
    assert not shown.find_element("css selector", "nav li a").is_displayed()
