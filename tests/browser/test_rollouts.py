"""A rollout is started, watched and ended without leaving the console."""

from collections.abc import Callable, Iterator

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import EITHER, Look
from tests.browser.speaking import post_plan
from tests.journeys.following import finished, wait_step

NAME = "styles/brief"
TEXT = "---\nname: styles/brief\nversion: 9\ninputs: []\n---\n<b>Be brief.</b>\n"


@pytest.fixture(autouse=True)
def ended(api: httpx2.Client) -> Iterator[None]:
    """Leave no rollout and no text of its own for other tests, whatever happens."""
    yield
    for rollout in api.get("/v1/rollouts").json()["items"]:
        if rollout["outcome"] is None:
            api.post(f"/v1/rollouts/{rollout['id']}/stop")
    api.delete(f"/v1/prompts/{NAME}")


@EITHER
def test_a_rollout_is_started_and_stopped(api: httpx2.Client, open_console: Callable[[str], Page], look: Look) -> None:
    """Its turns are shown beside the others; text that looks like HTML stays text. It stays in the list."""
    page = open_console("#/rollouts")
    page.clock.install()
    page.get_by_text("Start a rollout").click()
    page.get_by_label("Text or agent").select_option(NAME)
    box = page.get_by_label("The new text")
    expect(box).to_have_value(str(api.get(f"/v1/prompts/{NAME}").json()["text"]))
    box.fill("--- no head")
    page.get_by_role("button", name="Start the rollout").click()
    expect(page.get_by_role("alert")).not_to_be_empty()
    box.fill(TEXT)
    page.get_by_label("Share of conversations").fill("50")
    page.get_by_label("But not before turns").fill("7")
    page.get_by_role("button", name="Start the rollout").click()
    page.get_by_role("heading", name=NAME).wait_for()
    (running,) = (each for each in api.get("/v1/rollouts").json()["items"] if each["outcome"] is None)
    expect(page.get_by_role("status").filter(has_text="No turn")).to_be_visible()
    _, turn_id = post_plan(api, [wait_step("a")])
    finished(api, turn_id)
    page.clock.fast_forward(6_000)
    expect(page.get_by_role("region", name="Comparison")).to_contain_text("Failed")
    page.get_by_text("The new text", exact=True).click()
    expect(page.get_by_text("<b>Be brief.</b>")).to_be_visible()
    page.get_by_role("button", name="Stop: the old text for all").click()
    expect(page.locator(".badge")).to_have_text("stopped")
    expect(page.get_by_role("button", name="Promote")).to_be_hidden()
    page.get_by_role("link", name="← Rollouts").click()

    expect(page.locator(".found tbody tr").first).to_contain_text("stopped")
    assert (running["share"], running["max_worse"], running["min_turns"]) == (0.5, 0.05, 7)


def test_a_text_from_the_editor_is_rolled_out_and_promoted(
    api: httpx2.Client, open_console: Callable[[str], Page]
) -> None:
    """The form begins with what was written. What is promoted is the tenant's own text."""
    page = open_console(f"#/prompts/{NAME}")
    page.get_by_role("textbox", name="Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Roll it out…").click()
    expect(page.get_by_label("The new text")).to_have_value(TEXT)
    page.get_by_role("button", name="Start the rollout").click()
    page.get_by_role("button", name="Promote: the new text for all").click()
    expect(page.locator(".badge")).to_have_text("promoted")

    assert api.get(f"/v1/prompts/{NAME}").json()["text"] == TEXT


def test_a_language_model_is_named_for_agents_only(open_console: Callable[[str], Page]) -> None:
    """Which ones exist the server knows: another one is refused, with those that there are."""
    page = open_console("#/rollouts")
    page.get_by_text("Start a rollout").click()
    page.get_by_label("Text or agent").select_option(NAME)
    expect(page.get_by_label("What is new")).to_be_disabled()
    page.get_by_label("Text or agent").select_option("agents/hotel")
    page.get_by_label("What is new").select_option("the language model")
    page.get_by_label("Language model", exact=True).fill("unheard-of")
    page.get_by_role("button", name="Start the rollout").click()

    expect(page.get_by_role("alert")).to_contain_text("unheard-of")
