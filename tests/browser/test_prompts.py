"""A prompt is edited, tried, set and taken back."""

from collections.abc import Callable, Iterator

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import EITHER, RESTARTS, Look, interrupt
from tests.journeys.following import finished, post

NAME = "styles/detailed"
AGENT = "agents/hotel"


@pytest.fixture(autouse=True)
def unchanged(api: httpx2.Client) -> Iterator[None]:
    """Leave the shipped text for other tests, whatever happens."""
    yield
    api.delete(f"/v1/prompts/{NAME}")


def parking(api: httpx2.Client) -> str:
    """Let the hotel's agent answer a question; return the turn's id."""
    turn_id: str = finished(api, post(api, "Is there parking?", agent="hotel")["turn_id"])["turn_id"]
    return turn_id


def edited(page: Page, text: str) -> None:
    """Write another text for the agent."""
    page.get_by_role("heading", name=AGENT).wait_for()
    page.get_by_role("textbox", name="Text", exact=True).fill(text)


@EITHER
def test_a_prompt_is_edited(api: httpx2.Client, open_console: Callable[[str], Page], look: Look) -> None:
    """A bad text is refused with its reason; a good one shows a preview, counts, and can be taken back."""
    page = open_console("#/prompts")
    page.get_by_label("Find a text").fill("styles")
    page.get_by_role("link", name=NAME).click()
    box = page.get_by_role("textbox", name="Text", exact=True)
    page.get_by_role("heading", name=NAME).wait_for()
    shipped = box.input_value()
    expect(page.get_by_role("button", name="Set for all")).to_be_disabled()
    box.fill("--- no head")
    page.get_by_role("button", name="Check and preview").click()
    expect(page.locator(".outcome .problem")).not_to_be_empty()
    box.fill(f"{shipped.rstrip()}\n- Be kind.\n")
    page.get_by_role("button", name="Check and preview").click()
    expect(page.locator(".outcome pre").first).to_contain_text("Be kind.")
    page.get_by_role("button", name="Set for all").click()
    expect(page.locator(".below table tbody tr").first).to_contain_text("set")
    in_effect = api.get(f"/v1/prompts/{NAME}").json()
    page.get_by_role("button", name="Go back to the shipped text").click()
    expect(box).to_have_value(shipped)
    removed = api.get(f"/v1/prompts/{NAME}").json()
    page.get_by_role("button", name="Set again").first.click()
    expect(box).to_have_value(f"{shipped.rstrip()}\n- Be kind.\n")

    assert (in_effect["origin"], in_effect["text"]) == ("ledger", f"{shipped.rstrip()}\n- Be kind.\n")
    assert removed["origin"] == "shipped"


def test_a_template_is_tried_on_a_recorded_turn(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """The preview is what the template would have said then."""
    turn = finished(api, post(api, "Is there parking?", agent="hotel")["turn_id"])
    page = open_console(f"#/prompts/responding/{turn['synthesis_hint']}")
    page.get_by_label("A recorded turn").fill(turn["turn_id"])
    page.get_by_role("button", name="Check and preview").click()

    expect(page.locator(".outcome pre")).to_have_count(1)
    expect(page.locator(".outcome pre")).to_contain_text("park")


@EITHER
def test_an_agent_is_tried_on_a_recorded_turn(
    api: httpx2.Client, open_console: Callable[[str], Page], look: Look
) -> None:
    """What changes of the turn's prompts is marked; the turn is run again, both plans side by side. Nothing is set."""
    turn_id = parking(api)
    page = open_console(f"#/prompts/{AGENT}")
    edited(page, "persona: You are a pirate.\ntools: [dates.*]\n")
    turn = page.get_by_label("A recorded turn")
    turn.focus()
    page.locator(f"#trial-turns option[value='{turn_id}']").wait_for(state="attached")
    turn.fill(turn_id)
    page.get_by_role("button", name="Check and preview").click()
    expect(page.locator(".diff ins").filter(has_text="You are a pirate.")).to_have_count(1)
    page.get_by_role("button", name="Run the turn again with it").click()
    page.get_by_role("region", name="Plan as recorded").wait_for()

    expect(page.locator(".replayed")).to_contain_text("Reply with this text")
    expect(page.get_by_role("link", name="Open the report")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert api.get(f"/v1/prompts/{AGENT}").json()["origin"] == "shipped"


def test_a_replay_is_followed_past_a_failure(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """The reason is told until the next look succeeds."""
    turn_id = parking(api)
    page = open_console(f"#/prompts/{AGENT}")
    edited(page, "persona: You are a pirate.\ntools: [dates.*]\n")
    page.get_by_label("A recorded turn").fill(turn_id)
    interrupt(page, "**/v1/replays/*")
    page.get_by_role("button", name="Run the turn again with it").click()
    expect(page.locator(".trial .outcome .problem")).to_have_text(RESTARTS)

    expect(page.get_by_role("link", name="Open the report")).to_be_visible()
    expect(page.locator(".trial .outcome .problem").filter(has_text=RESTARTS)).to_have_count(0)


def test_a_turn_that_is_not_there_is_told(open_console: Callable[[str], Page]) -> None:
    """The reason stands where the turn was named."""
    page = open_console(f"#/prompts/{AGENT}")
    edited(page, "persona: You are a pirate.\n")
    page.get_by_label("A recorded turn").fill("nowhere")
    page.get_by_role("button", name="Check and preview").click()
    expect(page.locator(".inner > .problem")).to_have_text("there is no turn of that id")
    page.get_by_role("button", name="Run the turn again with it").click()

    expect(page.locator(".trial .problem").first).to_have_text("there is no turn of that id")


def test_the_last_conversations_are_replayed_before_it_is_set(
    api: httpx2.Client, context: BrowserContext, open_console: Callable[[str], Page]
) -> None:
    """They are those of the agent. The verdict stands in the page, the report is a page of its own."""
    parking(api)
    page = open_console(f"#/prompts/{AGENT}")
    edited(page, "persona: You are a pirate.\n")
    page.get_by_label("The last conversations").fill("1")
    expect(page.locator(".trial")).to_contain_text("The last conversations of hotel")
    page.get_by_role("button", name="Replay them with it").click()
    link = page.get_by_role("link", name="Open the report")
    link.wait_for()
    with context.expect_page() as opened:
        link.click()
    [made] = [each for each in api.get("/v1/replays").json()["items"] if each["prompts"] == [AGENT]][:1]

    expect(page.locator(".trial .outcome")).to_contain_text("did not go the same way")
    expect(opened.value.locator("h1")).not_to_be_empty()
    assert (made["agent"], made["last"], made["conversations"]) == ("hotel", 1, 1)
    assert api.get(f"/v1/prompts/{AGENT}").json()["origin"] == "shipped"
