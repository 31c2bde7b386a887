"""A real browser in front of the whole stack: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from turnloom.workers.embedded.stack import Stack

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first of them that is installed is used. The shell draws the same pages with less work around them."""
CHROMIUM = next(filter(None, map(shutil.which, _BROWSERS)), None)
FLAGS = ["--no-sandbox", "--disable-gpu"]
PATIENCE_MS = 30_000
RESTARTS = "the server starts again"
WATCH = """() => {
  window.seen = {};
  const note = (step, look) => {
    const status = look?.split(" ")[1];
    if (step && status && !(window.seen[step] ??= []).includes(status)) window.seen[step].push(status);
  };
  const observed = { subtree: true, attributes: true, attributeOldValue: true, attributeFilter: ["class"] };
  new MutationObserver((changes) => {
    for (const { target, oldValue } of changes) note(target.dataset?.step, oldValue);
    for (const { target } of changes) note(target.dataset?.step, target.getAttribute("class"));
  }).observe(document.body, observed);
}"""
"""A script that notes each status that a step is drawn with, also at first, in `seen`: step -> statuses in order."""


def interrupt(page: Page, address: str) -> None:
    """Let the next request of a page to an address get 503, as while a server starts again. `address`: a pattern."""
    page.route(address, lambda route: route.fulfill(status=503, json={"detail": RESTARTS}), times=1)


class Look(NamedTuple):
    """A screen on which somebody sees the console."""

    width: int
    height: int
    scheme: str

    @property
    def is_phone(self) -> bool:
        """Whether chat and plan are seen one at a time."""
        return self.width < 800


DESKTOP, PHONE = Look(1440, 900, "light"), Look(390, 844, "dark")
EITHER = pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=["desktop, light", "phone, dark"])


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Run Chromium for all tests of this folder. While it runs, its event loop is the only one of this process."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: `apt-get install chromium-headless-shell`")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def look() -> Look:
    """The screen, unless a test names others."""
    return DESKTOP


@pytest.fixture
def context(browser: Browser, stack: Stack, look: Look) -> Iterator[BrowserContext]:
    """A browser of somebody who has not been here before."""
    opened = browser.new_context(
        base_url=stack.url,
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,  # type: ignore[arg-type]
        has_touch=look.is_phone,
        reduced_motion="reduce",
    )
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


@pytest.fixture
def open_console(context: BrowserContext) -> Iterator[Callable[[str], Page]]:
    """Open the console at a hash, signed in. Nothing may break in it, and nothing may be refused by its policy."""
    faults: list[str] = []

    def opened(place: str = "") -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
        page.goto(f"/{place}")
        page.wait_for_selector("[data-state='signed-in'] #message, [data-state='signed-in'] #main > *")
        return page

    yield opened
    assert faults == []


@pytest.fixture
def console(open_console: Callable[[str], Page]) -> Page:
    """The console as it is first seen."""
    page = open_console("")
    page.wait_for_selector(".welcome h2")
    return page
