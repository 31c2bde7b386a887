"""Take the pictures of the console in docs/pictures/, on an embedded stack: `python docs/screenshots.py`.

It needs Chromium. Run it after a change of how the console looks, and look at what it took.
"""

import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from turnloom.models.contracts.fault_file import read_fault_file
from turnloom.workers.embedded.stack import Stack, StackOptions

PICTURES = Path(__file__).resolve().parent / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)))
DESKTOP: dict[str, Any] = {"viewport": {"width": 1360, "height": 820}, "color_scheme": "light"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 1.5,
    "color_scheme": "dark",
    "has_touch": True,
}
KYOTO = "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights"
SERVICES = """
faults:
  - {tool: travel.lookup_weather, delay_ms: 400}
  - {tool: travel.search_attractions, delay_ms: 1300}
  - {tool: travel.search_hotels, delay_ms: 2600}
  - {tool: pms.get_availability, delay_ms: 600}
"""
"""The time that the services behind the tools would take. The demonstration's answer at once."""
ROOM = "A room next weekend for 2 adults and a child of 5"


def main() -> None:
    """Take each picture with a browser that has not been there before."""
    with (
        Stack(StackOptions(data_dir=None, port=0, faults=read_fault_file(SERVICES))) as stack,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        _chat(_opened(browser, stack, DESKTOP))
        _plan(_opened(browser, stack, PHONE))
        _story(_opened(browser, stack, DESKTOP))
        browser.close()


def _chat(page: Page) -> None:
    """Take a trip while its steps run."""
    _said(page, "travel", KYOTO)
    page.fill("#message", "Make it 3 days")
    page.press("#message", "Enter")
    page.locator(".node.succeeded").first.wait_for()
    page.locator(".node.running").first.wait_for()
    page.screenshot(path=PICTURES / "console.png")


def _plan(page: Page) -> None:
    """Take the plan of a trip on a phone."""
    _said(page, "travel", KYOTO)
    page.locator(".turn .status").click()
    page.locator(".timeline .rows li").last.wait_for()
    page.mouse.move(0, 0)  # a step under the pointer shows its details
    page.screenshot(path=PICTURES / "console-phone.png")


def _story(page: Page) -> None:
    """Take a turn's story after somebody has asked where a price comes from."""
    _said(page, "hotel", ROOM)
    turn_id = page.locator(".turn").get_attribute("data-turn")
    page.goto(f"/#/turns/{turn_id}")
    page.locator(".story .part").first.wait_for()
    page.locator("button.source").last.click()
    page.locator(".details mark").wait_for()
    page.screenshot(path=PICTURES / "console-story.png")


def _opened(browser: Browser, stack: Stack, look: dict[str, Any]) -> Page:
    page = browser.new_context(base_url=stack.url, reduced_motion="reduce", **look).new_page()
    page.goto("/")
    page.locator(".welcome h2").wait_for()
    return page


def _said(page: Page, agent: str, message: str) -> None:
    """Write to an agent, and wait for its reply."""
    page.select_option("#agent", agent)
    page.fill("#message", message)
    page.press("#message", "Enter")
    page.locator(".turn[data-status='succeeded']").wait_for()


if __name__ == "__main__":
    main()
