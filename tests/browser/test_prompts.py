"""A prompt is edited, tried, set and taken back."""

from collections.abc import Callable, Iterator

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import EITHER, Look
from tests.journeys.following import finished, post

NAME = "styles/detailed"


@pytest.fixture(autouse=True)
def unchanged(api: httpx2.Client) -> Iterator[None]:
    """Leave the shipped text for other tests, whatever happens."""
    yield
    api.delete(f"/v1/prompts/{NAME}")


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
    page.get_by_label("Preview with the results of a recorded turn").fill(turn["turn_id"])
    page.get_by_role("button", name="Check and preview").click()

    expect(page.locator(".outcome pre")).to_have_count(1)
    expect(page.locator(".outcome pre")).to_contain_text("park")
