"""The page in a real browser: drawn live, in the light and in the dark, on a phone, with what an admin may do."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException

from lewa.serve.demo import SETUP
from tests.browser import look, needed
from tests.serve.running import Server, running

pytestmark = [needed, pytest.mark.slow]


def traffic(server: Server, count: int) -> None:
    made = server.call("POST", "/v1/agents/router/decide", [{} for _ in range(count)])[1]["decisions"]
    told = [{"decision": one["decision"], "reward": 1, "cost": 0.003, "quality": 0.7} for one in made[:-3]]
    server.call("POST", "/v1/agents/router/feedback", told)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("page")
    with running(f"sqlite:///{folder}/store.sqlite3", folder) as server:
        assert server.call("POST", "/v1/agents", SETUP)[0] == 201
        traffic(server, 50)
        time.sleep(2.5)  # two points of history at least
        traffic(server, 50)
        yield server


@pytest.fixture(scope="module", autouse=True)
def signed_in(browser: Any, server: Server) -> Iterator[None]:
    browser.get(f"http://127.0.0.1:{server.port}/")
    browser.find_element("css selector", "#key").send_keys(server.key)
    browser.find_element("css selector", "main button").click()
    until(lambda: browser.find_elements("css selector", ".live"))
    yield
    browser.get("about:blank")  # a page that is open calls the server again and again


def until(what: Any, seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while True:
        try:
            if result := what():
                return result
        except (StaleElementReferenceException, NoSuchElementException):
            pass  # the page changed meanwhile
        except WebDriverException as error:  # what ChromeDriver says of an element while the page loads anew
            if "does not belong to the document" not in str(error):
                raise
        assert time.monotonic() < end, what
        time.sleep(0.1)


def text(browser: Any, selector: str) -> str:
    return str(browser.find_element("css selector", selector).text)


def fill(browser: Any, form: str, **fields: str) -> None:
    for name, value in fields.items():
        field = browser.find_element("css selector", f"[data-form={form}] [name={name}]")
        if field.tag_name == "select":
            field.find_element("xpath", f".//option[normalize-space()='{value}']").click()
        else:
            field.clear()
            field.send_keys(value)
    browser.find_element("css selector", f"[data-form={form}] button").click()


def test_the_page_as_people_use_it(browser: Any, server: Server) -> None:
    look(browser, 1280)
    home = f"http://127.0.0.1:{server.port}/"
    browser.get(home)
    browser.delete_all_cookies()
    browser.get(home)
    browser.find_element("css selector", "#key").send_keys("lewa_00000000_wrong")
    browser.find_element("css selector", "main button").click()
    until(lambda: "not valid" in text(browser, "main"))
    browser.get_log("browser")
    browser.find_element("css selector", "#key").send_keys(server.key)
    browser.find_element("css selector", "main button").click()
    until(lambda: browser.find_elements("css selector", ".live.on"))
    assert server.key not in browser.page_source

    traffic(server, 40)  # what happens now appears by itself
    until(lambda: text(browser, "[data-count=decisions]") == "140")
    traffic(server, 40)
    until(lambda: len(browser.find_elements("css selector", ".plot canvas")) == 6)
    until(lambda: text(browser, "[data-count=decisions]") == "180")
    assert text(browser, ".guarantee").startswith(("Promised: ", "Proved: "))

    browser.find_element("css selector", "[data-form=story] input").send_keys("router:2")
    browser.find_element("css selector", "[data-form=story] button").click()
    until(lambda: "router:2" in text(browser, "output"))
    assert "answered" in text(browser, "output")
    lines = "return [...document.querySelectorAll('output td:nth-child(3)')].map((cell) => cell.offsetHeight)"
    assert all(height < 40 for height in browser.execute_script(lines))  # "decision" is not broken in two

    browser.find_element("css selector", ".admin summary").click()
    fill(browser, "timeout", close_after="45m")
    until(lambda: "version 2" in text(browser, "output"))
    browser.find_element("css selector", "[data-why]").send_keys("the invoice")
    fill(browser, "line", limit="0.005")
    until(lambda: "version 3" in text(browser, "output"))
    assert text(browser, "[data-limit='0']") == "0.005"
    fill(browser, "line", limit="7")
    until(lambda: "must lie in its range" in text(browser, "output"))  # refused in one sentence, nothing changed
    fill(browser, "mode", mode="shadow")
    until(lambda: text(browser, "[data-show=mode]") == "shadow")
    fill(browser, "add", name="huge", like="large", share="0.05")  # the page loads anew: it has one more action
    until(lambda: server.call("GET", "/v1/agents/router")[1]["version"] == 5)
    traffic(server, 2)
    until(lambda: "huge" in (browser.find_element("css selector", ".agent").get_attribute("data-actions") or ""))
    until(lambda: browser.find_elements("css selector", ".live.on"))
    browser.find_element("css selector", ".admin summary").click()
    fill(browser, "drop", action="huge")
    browser.switch_to.alert.accept()
    until(lambda: server.call("GET", "/v1/agents/router")[1]["version"] == 6)
    setup = server.call("GET", "/v1/agents/router")[1]["setup"]
    assert (setup["answers"]["close_after"], setup["constraints"][0]["at_most"], setup["safety"]["mode"]) == (
        "45m",
        0.005,
        "shadow",
    )
    assert setup["actions"] == SETUP["actions"]
    changes = server.call("GET", "/v1/agents/router/status")[1]["changes"]
    assert "the invoice" in [one["why"] for one in changes]

    errors = [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert [entry for entry in errors if "400 (Bad Request)" not in entry["message"]] == []
    hosts = browser.execute_script("return performance.getEntriesByType('resource').map((one) => new URL(one.name).host)")
    assert set(hosts) == {f"127.0.0.1:{server.port}"}


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_it_never_scrolls_sideways(browser: Any, server: Server, width: int) -> None:
    look(browser, width)
    browser.get(f"http://127.0.0.1:{server.port}/agents/router")
    until(lambda: len(browser.find_elements("css selector", ".plot canvas")) == 6)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_dark_is_dark(browser: Any, server: Server) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    browser.get(f"http://127.0.0.1:{server.port}/")
    look(browser, 1280)
    light = browser.execute_script(colour)
    look(browser, 1280, "dark")
    assert browser.execute_script(colour) != light


def test_vendored_files_are_what_they_were() -> None:
    import hashlib

    import lewa.serve

    folder = Path(str(lewa.serve.__file__)).parent / "static"
    for line in (folder / "uPlot.sha256").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert "MIT" in (folder / "uPlot.LICENSE").read_text()
