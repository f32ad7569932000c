"""One browser for all tests that look at pages."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needed = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium is not installed: apt install chromium chromium-driver"
)
# Nothing that asks the network. Flags that make it start fewer processes were tried: they save nothing.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-features=PreloadTopChromeWebUI,InitialWebUI",
    "--disable-sync",
)


def started(folder: Path) -> Iterator[Any]:
    """Start the browser with its data in a folder, and end it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))  # told where it is, it fetches nothing
    yield driver
    driver.quit()


def look(browser: Any, width: int, scheme: str = "light", media: str = "screen") -> None:
    """Show the page as on a screen of this width, or on paper."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
