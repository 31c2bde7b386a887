"""A replay is started, followed and its report opened, without leaving the console."""

from collections.abc import Callable

import httpx2
from playwright.sync_api import BrowserContext, Page, expect

from tests.journeys.following import finished, post


def test_a_replay_is_made_and_its_report_opened(
    api: httpx2.Client, context: BrowserContext, open_console: Callable[[str], Page]
) -> None:
    """Progress is shown until it has ended; the report is a page of its own."""
    finished(api, post(api, "Is there parking?", agent="hotel")["turn_id"])
    page = open_console("#/replays")
    page.get_by_label("Agent").select_option("hotel")
    page.get_by_label("Conversations, at most").fill("1")
    page.get_by_role("button", name="Start a replay").click()
    row = page.locator(".found tbody tr").first
    expect(row).to_contain_text("at most 1 conversations")
    expect(row).to_contain_text("1 of 1, finished")
    with context.expect_page() as opened:
        row.get_by_role("link", name="Open the report").click()

    expect(opened.value.locator("h1")).not_to_be_empty()
