"""Who may see the console: a key signs in, and what it may not do is not offered."""

from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.speaking import post_plan
from tests.conftest import DEV_KEY
from tests.journeys.following import finished, wait_step
from tests.journeys.stacks import environment_of
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import keys, tenants
from turnloom.workers.embedded.stack import Stack


@pytest.fixture
def reading_key(stack: Stack) -> str:
    """A key of the same tenant that may only read."""
    with environment_of(stack), transaction() as db:
        _, key = keys.create(db, tenants.ensure(db, keys.DEVELOPMENT_TENANT), "reader", ["turns:read"])
    return key


@pytest.fixture
def signed_out(context: BrowserContext, console: Page) -> Page:
    """The console after somebody has signed out."""
    console.get_by_role("button", name="Sign out").click()
    console.locator("#key").wait_for()
    return console


def cookie(context: BrowserContext) -> dict[str, Any] | None:
    return next((dict(each) for each in context.cookies() if each.get("name") == "turnloom_session"), None)


def test_the_embedded_stack_signs_in_by_itself(context: BrowserContext, console: Page) -> None:
    """On this machine nobody is asked for a key. No script can read the cookie, and no other site can use it."""
    kept = cookie(context)

    assert kept is not None
    assert (kept["httpOnly"], kept["sameSite"]) == (True, "Strict")
    stored = console.evaluate("() => [localStorage.length, sessionStorage.length, document.cookie]")
    assert stored == [0, 0, ""]


def test_a_key_signs_in(context: BrowserContext, signed_out: Page) -> None:
    """A wrong key is refused with a sentence; the right one opens the console and stays nowhere."""
    assert cookie(context) is None
    expect(signed_out.locator("nav")).to_be_hidden()
    signed_out.fill("#key", "tl_wrong")
    signed_out.press("#key", "Enter")
    expect(signed_out.get_by_role("alert")).to_contain_text("not known")
    signed_out.fill("#key", DEV_KEY)
    signed_out.press("#key", "Enter")
    signed_out.locator("#message").wait_for()

    assert cookie(context) is not None
    assert DEV_KEY not in signed_out.content()


def test_a_session_that_has_ended_leads_to_the_form(context: BrowserContext, console: Page) -> None:
    """Whoever goes on with it is asked for a key, and sees nothing more."""
    context.clear_cookies()
    console.select_option("#agent", "hotel")
    console.fill("#message", "hello")
    console.press("#message", "Enter")

    expect(console.locator("#key")).to_be_visible()
    expect(console.locator(".log")).to_have_count(0)


def test_a_key_that_only_reads_is_offered_nothing_else(api: httpx2.Client, signed_out: Page, reading_key: str) -> None:
    """It sees conversations and plans, and no box to write in, no list of all turns, no rating."""
    place, turn_id = post_plan(api, [wait_step("a")])
    finished(api, turn_id)
    signed_out.fill("#key", reading_key)
    signed_out.press("#key", "Enter")
    signed_out.locator(".chat").wait_for()
    signed_out.goto(f"/{place}")
    signed_out.locator(".node.succeeded").wait_for()

    expect(signed_out.locator("#message, .rating, [data-page='turns']")).to_have_count(0)
    expect(signed_out.get_by_text("Your key may read conversations")).to_be_visible()
