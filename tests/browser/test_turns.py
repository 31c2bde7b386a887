"""Turns are found by filter, and each tells its whole story."""

from collections.abc import Callable
from uuid import uuid4

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.conftest import EITHER, Look
from tests.browser.speaking import post_plan
from tests.journeys.following import finished, post, wait_step


@EITHER
def test_a_failed_turn_is_found_and_explained(
    api: httpx2.Client, open_console: Callable[[str], Page], look: Look
) -> None:
    """Filters narrow the list and stand in the address; the story has steps, events and the log."""
    word = f"parcel{uuid4().hex[:8]}"
    _, turn_id = post_plan(api, [{"id": "bad", "tool": "sim.fail", "args": {"code": "NOT_FOUND"}}], f"find {word}")
    finished(api, turn_id)
    page = open_console("#/turns")
    page.get_by_label("Words of the message").fill(word)
    page.get_by_label("Words of the message").press("Enter")
    page.get_by_label("Status").select_option("failed")
    expect(page.locator(".found tbody tr")).to_have_count(1)
    assert word in page.url
    page.locator(".found a").click()
    page.locator(".story .part").first.wait_for()

    expect(page.locator(".bubble")).to_have_text(f"find {word}")
    page.get_by_text("Events", exact=True).click()
    expect(page.locator(".story table", has_text="step.finished")).to_contain_text("NOT_FOUND")
    page.get_by_text("Audit log").click()
    expect(page.locator(".story table", has_text="turn.received")).to_be_visible()
    expect(page.get_by_role("link", name="graph.svg")).to_have_attribute("href", f"v1/turns/{turn_id}/graph.svg")


def test_nothing_found_is_said(open_console: Callable[[str], Page]) -> None:
    """An address with filters can be sent on; what finds nothing says so."""
    page = open_console(f"#/turns?text=nothing{uuid4().hex}&status=failed")

    expect(page.get_by_role("status").filter(has_text="No turn is like this.")).to_be_visible()
    expect(page.get_by_label("Status")).to_have_value("failed")


def test_a_conversation_is_taken_over(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """A person takes it over, writes, and hands it back."""
    place, turn_id = post_plan(api, [wait_step("a")])
    finished(api, turn_id)
    page = open_console(f"#/turns/{turn_id}")
    page.get_by_role("button", name="Take the conversation over").click()
    page.get_by_label("Message", exact=True).fill("Good morning, this is Dana.")
    page.get_by_role("button", name="Send", exact=True).click()
    back = page.get_by_role("button", name="Hand it back to the agent")
    back.wait_for()
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    conversation = place.rpartition("/")[2]
    written = api.get(f"/v1/conversations/{conversation}/turns").json()["items"][-1]
    back.click()
    page.get_by_role("button", name="Take the conversation over").wait_for()

    assert written["reply"]["text"] == "Good morning, this is Dana."
    assert api.get(f"/v1/conversations/{conversation}").json()["paused_at"] is None


def test_calls_of_the_language_model_are_told(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """Each call is listed; where prompts are recorded, what was asked and answered can be read."""
    turn_id = post(api, "Is there parking?", agent="hotel")["turn_id"]
    finished(api, turn_id)
    trace = api.get(f"/v1/turns/{turn_id}/trace.json").json()
    page = open_console(f"#/turns/{turn_id}")
    page.locator(".story .part").first.wait_for()

    expect(page.get_by_role("region", name="Purpose, Model, Tokens in, Tokens out, Time")).to_contain_text("plan")
    recorded = [call for call in trace["llm_calls"] if call.get("recording")]
    asked = page.locator("summary", has_text="What was asked for:")
    expect(asked).to_have_count(len(recorded))
    for place, call in enumerate(recorded):
        asked.nth(place).click()
        expect(page.locator(".texts-of-call").nth(place)).to_contain_text((call["recording"]["answer"] or "")[:20])
