"""People chat in the console: with the hotel, about a trip, through a dropped network, with approvals."""

from collections.abc import Callable
from itertools import pairwise

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import EITHER, WATCH, Look
from tests.browser.speaking import choose_agent, drawn, gate, open_gate, post_plan, say, seen, wait_for_end
from tests.facts import wait_for
from tests.journeys.following import finished, wait_step
from tests.journeys.stacks import frozen
from turnloom.workers.embedded.stack import Stack

MARKUP = "<img src=x onerror=alert(1)> <b>bold</b> <script>alert(2)</script>"


@EITHER
def test_a_room_is_found_and_its_link_sent(stack: Stack, console: Page, look: Look) -> None:
    """Steps change while they run. The table sorts, a suggestion goes on, and the link is a link."""
    console.evaluate(WATCH)
    choose_agent(console, "hotel")
    # The plan is drawn four times a second at most, and the search is over sooner.
    with frozen(stack.processes["worker-io-1"].pid), frozen(stack.processes["worker-io-2"].pid):
        say(console, "A room next weekend for 2 adults and a child of 5")
        console.locator(".node:is(.queued, .running)").first.wait_for(state="attached")
    wait_for_end(console)

    statuses = seen(console)
    assert {steps[-1] for steps in statuses.values()} == {"succeeded"}
    assert any({"queued", "running"} & set(steps) for steps in statuses.values())
    table = console.locator(".artifact.table").first
    table.get_by_role("button", name="Show all").click()
    heads = table.locator("thead th").all_inner_texts()
    price = next(place for place, head in enumerate(heads) if head.startswith("Price"))
    table.locator("thead th button").nth(price).click()
    table.locator("thead th button").nth(price).click()
    cells = table.locator(f"tbody td:nth-child({price + 1})").all_inner_texts()
    prices = [float(cell.replace(",", "")) for cell in cells]
    assert len(prices) > 2
    assert all(one >= other for one, other in pairwise(prices))
    expect(table.locator("thead th").nth(price)).to_have_attribute("aria-sort", "descending")

    say(console, "send me the link for the first one")
    wait_for_end(console, 2)
    link = console.locator(".artifact.link a")
    assert (link.get_attribute("rel"), link.get_attribute("target")) == ("noopener noreferrer", "_blank")
    assert (link.get_attribute("href") or "").startswith("http")


def test_a_choice_answers_a_question(console: Page) -> None:
    """The question's choices are buttons, until it is answered."""
    choose_agent(console, "hotel")
    say(console, "I need a room with breakfast for 3 adults")
    wait_for_end(console)
    choice = console.locator(".choice").first
    words = choice.inner_text()
    choice.click()
    wait_for_end(console, 2)

    assert console.locator(".bubble").nth(1).inner_text() == words
    assert console.locator(".turn").first.locator(".choice:visible").count() == 0


@EITHER
def test_a_trip_is_shown_by_day_and_its_figures_have_sources(console: Page, look: Look) -> None:
    """Choosing a figure opens the result that it comes from, and marks the value there."""
    choose_agent(console, "travel")
    say(console, "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights")
    wait_for_end(console)

    expect(console.locator(".artifact.itinerary .days > li")).to_have_count(2)
    figure = console.locator("button.source").first
    figure.click()
    details = console.locator(".details")
    expect(details).to_be_visible()
    assert details.locator("mark").inner_text().strip('"') != ""
    if look.is_phone:
        expect(console.locator("#message")).to_be_hidden()
        console.get_by_role("button", name="Chat").click()
        expect(console.locator("#message")).to_be_visible()


def test_a_dropped_network_loses_nothing(
    api: httpx2.Client, context: BrowserContext, open_console: Callable[[str], Page]
) -> None:
    """The page says that it connects again, goes on where it was, and shows each step once as it ended."""
    steps = [wait_step("a", ms=200), gate("b", "a"), wait_step("c", "b", ms=100)]
    place, turn_id = post_plan(api, steps)
    page = open_console(place)
    page.locator(".node.succeeded").wait_for()
    context.set_offline(True)
    expect(page.locator(".status")).to_contain_text("connecting again")
    open_gate(api, turn_id, "b")
    finished(api, turn_id)
    assert page.locator(".turn[data-status='succeeded']").count() == 0
    context.set_offline(False)
    wait_for_end(page)

    assert drawn(page) == dict.fromkeys(["a", "b", "c"], "succeeded")
    expect(page.locator(".text")).to_have_text(finished(api, turn_id)["reply"]["text"])


def test_a_message_that_was_not_sent_is_sent_once(api: httpx2.Client, context: BrowserContext, console: Page) -> None:
    """Without a network the page says so; the button sends the same message, with the same id."""
    choose_agent(console, "hotel")
    context.set_offline(True)
    say(console, "Is there parking?")
    again = console.get_by_role("button", name="Send again")
    again.wait_for()
    context.set_offline(False)
    again.click()
    wait_for_end(console)

    expect(console.locator(".chat > .problem")).to_be_empty()
    assert console.locator(".turn").count() == 1


@EITHER
@pytest.mark.parametrize(("button", "ends"), [("Approve", "succeeded"), ("Reject", "failed")])
def test_a_call_waits_for_a_decision(
    api: httpx2.Client, open_console: Callable[[str], Page], look: Look, button: str, ends: str
) -> None:
    """The arguments are shown, with the beginning of their hash; the decision and its reason are recorded."""
    place, turn_id = post_plan(api, [{"id": "pay", "tool": "sim.approve", "args": {"value": MARKUP}}])
    page = open_console(place)
    card = page.locator(".approval")
    card.wait_for()
    assert "<img src=x" in card.locator("pre").inner_text()
    shown = card.get_attribute("data-hash")
    card.get_by_label("Reason").fill("as agreed")
    card.get_by_role("button", name=button).click()
    expect(card).to_have_count(0)
    (step,) = finished(api, turn_id)["steps"]

    assert (step["status"], step["approval"]["args_hash"]) == (ends, shown)
    assert step["approval"]["reason"] == "as agreed"
    wait_for(lambda: drawn(page) == {"pay": ends})


def test_a_turn_is_cancelled(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """What runs is dropped, and the page shows both: the turn's end and the step's."""
    place, turn_id = post_plan(api, [wait_step("long", ms=60_000)])
    page = open_console(place)
    page.locator(".node.running").wait_for()
    page.get_by_role("button", name="Cancel", exact=True).click()
    wait_for_end(page, status="cancelled")

    assert finished(api, turn_id)["status"] == "cancelled"
    wait_for(lambda: drawn(page) == {"long": "cancelled"})
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_hidden()


def test_a_second_message_is_seen_to_interrupt_the_first(
    api: httpx2.Client, open_console: Callable[[str], Page]
) -> None:
    """Somebody who writes again at once sees what becomes of both messages."""
    place, _ = post_plan(api, [wait_step("long", ms=60_000)])
    page = open_console(place)
    page.locator(".node.running").wait_for()
    page.select_option("#on-busy", "interrupt")
    say(page, "When is next weekend?")
    wait_for_end(page, status="superseded")
    wait_for_end(page)

    first = page.locator(".turn").first
    expect(first).to_contain_text("Your next message took the place of this one.")


def test_a_reply_is_rated(api: httpx2.Client, console: Page) -> None:
    """A thumb stays pressed; a thumb down asks why."""
    choose_agent(console, "hotel")
    say(console, "Is there parking?")
    wait_for_end(console)
    console.get_by_role("button", name="Good reply").click()
    expect(console.get_by_role("button", name="Good reply")).to_have_attribute("aria-pressed", "true")
    console.get_by_role("button", name="Bad reply").click()
    console.get_by_label("What was wrong?").fill("Too short.")
    console.locator(".rating form button").click()

    expect(console.locator(".rating")).to_contain_text("Thank you.")
    expect(console.get_by_role("button", name="Good reply")).to_have_attribute("aria-pressed", "false")


def test_text_that_looks_like_markup_stays_text(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """A message, an argument and a result become no elements, and nothing of them runs."""
    place, turn_id = post_plan(api, [{"id": "e", "tool": "sim.echo", "args": {"value": MARKUP}}], MARKUP)
    finished(api, turn_id)
    page = open_console(place)
    page.locator(".node").click()
    page.locator(".details pre").first.wait_for()

    assert page.locator(".bubble").inner_text() == MARKUP
    assert page.locator("#main img, #main b, #main script").count() == 0
    assert "<b>bold</b>" in page.locator(".details").inner_text()


def test_a_conversation_is_there_again_after_a_reload(console: Page) -> None:
    """Its address is that of the conversation; turns, artifacts and plan come back."""
    choose_agent(console, "hotel")
    say(console, "Which rooms do you have?")
    wait_for_end(console)
    before = (console.locator(".text").inner_text(), drawn(console))
    console.reload()
    wait_for_end(console)
    console.locator(".node").first.wait_for()

    assert (console.locator(".text").inner_text(), drawn(console)) == before
    assert console.locator("#agent").input_value() == "hotel"
