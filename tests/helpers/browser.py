"""Chromium without a window, for what is made to be looked at (Debian's package chromium)."""

import shutil
from contextlib import contextmanager, suppress
from functools import wraps
from threading import Timer

import psutil
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

ANSWER = 600
"""s in which a script in a page must end."""


@contextmanager
def browser():
    """The browser; skips, saying what is missing, without it or without playwright."""
    if CHROMIUM is None:
        pytest.skip("no browser: there is no chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="no browser: no playwright")
    with driver.sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        for owner in (driver.Page, driver.Frame, driver.Locator):
            patch.setattr(owner, "evaluate", _limited(owner.evaluate))
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def _limited(evaluate):
    """`evaluate` with a time limit, which playwright does not have: a script that does not end
    fails the test with one line, and the browser has other pages afterwards."""

    @wraps(evaluate)
    def limited(self, expression, *given, **options):
        timer = Timer(ANSWER, _end_pages)
        timer.start()
        try:
            return evaluate(self, expression, *given, **options)
        except Exception:
            if timer.finished.is_set():
                script = " ".join(expression.split())[:60]
                pytest.fail(f"a script runs for more than {ANSWER} s: {script}", pytrace=False)
            raise
        finally:
            timer.cancel()

    return limited


def renderers():
    """The processes of the pages that this one has opened."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "--type=renderer" in process.cmdline():
                yield process


def _end_pages():
    for process in renderers():
        with suppress(psutil.NoSuchProcess):
            process.kill()


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
