"""Chromium without a window, for what is made to be looked at (Debian's package chromium)."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def browser():
    """The browser; skips, saying what is missing, without it or without playwright."""
    if CHROMIUM is None:
        pytest.skip("no browser: there is no chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="no browser: no playwright")
    with driver.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def listen(page):
    """What a page complains of from now on, a list that grows: errors and warnings on its console,
    and exceptions that nobody caught."""
    complaints = []

    def note(message):
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints
