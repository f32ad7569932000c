"""The page of a study in a real browser: what people see, on a wide screen, on a phone, in the dark and on paper."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser import look, needed
from tests.report.folders import SMALL, only_svg, study

from lewa.report.study_report import write_report

pytestmark = [needed, pytest.mark.slow, pytest.mark.falsify]
HUNT = "LEWA_HUNT" in os.environ  # `make falsify` looks at the figures of both games, and at every width
# One game is enough otherwise: the reproduction shows the other one.
GAMES = SMALL if HUNT else SMALL.replace('[[games]]\nname = "bernoulli"\nfloor = 0.6\n', "")
MANY_LEARNERS = GAMES.replace("[100, 300, 1000]", "[30, 100, 300]") + "".join(
    f'\n[[learners]]\nname = "lewa"\nsettings = {{ eta = {eta} }}\n' for eta in (0.001, 0.01, 0.03, 0.1, 0.3)
)


@pytest.fixture(scope="module")
def pages(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with only_svg():
        one = write_report(study(tmp_path_factory.mktemp("pages") / "study", MANY_LEARNERS))
    return {"study": one.as_uri(), "reproduction": (reproduced / "index.html").as_uri()}


@pytest.fixture(scope="module", params=["study", "reproduction"])
def page(request: pytest.FixtureRequest, browser: Any, pages: dict[str, str]) -> Iterator[Any]:
    """A page that the tests which only look at it share."""
    browser.get(pages[request.param])
    yield browser
    browser.get("about:blank")


@pytest.fixture
def shown(page: Any) -> Any:
    """The page on a wide screen in the light, everything unfolded."""
    return as_at_first(page)


@pytest.fixture
def fresh(page: Any) -> Any:
    """The same, loaded anew: its tables are not sorted."""
    page.get_log("browser")
    page.refresh()
    return as_at_first(page)


def as_at_first(page: Any) -> Any:
    look(page, 1280)
    page.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    return page


only_study = pytest.mark.parametrize("page", ["study"], indirect=True)
only_reproduction = pytest.mark.parametrize("page", ["reproduction"], indirect=True)


def test_nothing_goes_wrong_and_nothing_is_fetched(fresh: Any) -> None:
    assert fresh.get_log("browser") == []
    assert fresh.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert fresh.execute_script("return document.compatMode") == "CSS1Compat"


def test_figures_are_there_and_can_be_seen(shown: Any, pages: dict[str, str]) -> None:
    sizes = shown.execute_script(
        "return [...document.querySelectorAll('figure svg')].map((one) => {"
        " const box = one.getBoundingClientRect(), paths = [...one.querySelectorAll('path')];"
        " return [box.width, box.height, Math.max(...paths.map((path) => path.getBoundingClientRect().width))] })"
    )
    assert len(sizes) >= (18 if HUNT or shown.current_url.startswith(pages["reproduction"]) else 9)
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
    look(shown, width)
    assert shown.execute_script(OVERLAPS) == []
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1500] if HUNT else [320, 768, 1500])
def test_the_page_never_scrolls_sideways(shown: Any, width: int) -> None:
    look(shown, width)
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width


def test_it_fits_a_sheet_of_paper_and_is_printed_light(shown: Any) -> None:
    look(shown, 718, "dark", "print")
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
    colours = (
        "const of = (one, what) => getComputedStyle(one)[what], svg = document.querySelector('figure svg');"
        "return [of(document.body, 'backgroundColor'), of(document.body, 'color'),"
        " of(document.querySelector('td.yes'), 'color'),"
        " ...[...svg.querySelectorAll('text')].map((one) => of(one, 'fill'))]"
    )
    light = shown.execute_script(colours)
    look(shown, 1280, "dark")
    dark = shown.execute_script(colours)
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


@only_study
def test_numbers_are_sorted_as_numbers_and_back(fresh: Any) -> None:
    head, _, before = column(fresh, "regret")
    button = head.find_element("css selector", "button")
    button.click()
    head, texts, up = column(fresh, "regret")
    assert up == sorted(before)
    assert up != before
    assert texts != sorted(texts)  # as words they would stand otherwise
    assert head.get_attribute("aria-sort") == "ascending"
    button.click()
    head, _, down = column(fresh, "regret")
    assert down == sorted(before, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"


@only_study
def test_rows_stay_whole_and_only_one_column_is_sorted(fresh: Any) -> None:
    pairs = set(zip(column(fresh, "learner")[1], column(fresh, "regret")[1], strict=True))
    for name in ("regret", "learner"):
        column(fresh, name)[0].find_element("css selector", "button").click()
    assert set(zip(column(fresh, "learner")[1], column(fresh, "regret")[1], strict=True)) == pairs
    words = column(fresh, "learner")[1]
    assert words == sorted(words)
    assert column(fresh, "regret")[0].get_attribute("aria-sort") is None


@only_reproduction
def test_what_has_no_number_stays_at_the_end(fresh: Any) -> None:
    button = column(fresh, "bound")[0].find_element("css selector", "button")
    fresh.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    for _ in range(2):
        button.click()
        assert column(fresh, "bound")[2] == [48.9, None]


@only_study
def test_the_keyboard_sorts_too(fresh: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    head, _, before = column(fresh, "violation")
    fresh.execute_script("arguments[0].querySelector('button').focus()", head)
    fresh.switch_to.active_element.send_keys(Keys.ENTER)
    head, _, after = column(fresh, "violation")
    assert after == sorted(before)
    assert head.get_attribute("aria-sort") == "ascending"


# Contents ----------------------------------------------------------------------------------------------------------------


@only_reproduction
def test_contents_and_claims_lead_to_their_study(shown: Any) -> None:
    for link in ("nav a[href='#two']", "table a[href='#two']"):
        shown.execute_script("document.documentElement.style.scrollBehavior = 'auto'; scrollTo(0, 0)")
        shown.find_element("css selector", link).click()
        top = shown.execute_script("return document.getElementById('two').getBoundingClientRect().top")
        assert 0 <= top < 800


@only_reproduction
def test_contents_stand_beside_the_page_where_there_is_room(shown: Any) -> None:
    look(shown, 1500)
    shown.refresh()
    assert shown.find_element("css selector", "nav li a").is_displayed()
    right = shown.execute_script("return document.querySelector('nav').getBoundingClientRect().right")
    assert right <= shown.execute_script("return document.querySelector('main').getBoundingClientRect().left")
    look(shown, 1000)
    shown.refresh()
    assert not shown.find_element("css selector", "nav li a").is_displayed()
