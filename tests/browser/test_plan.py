"""The plan beside the chat: large ones, fast ones, and without a mouse."""

import random
from collections.abc import Callable
from uuid import uuid4

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.conftest import WATCH
from tests.browser.speaking import drawn, gate, open_gate, post_plan, seen, wait_for_end
from tests.journeys.following import finished, post, wait_step
from tests.journeys.test_offline_loop import KYOTO

LARGE = 200
COUNT_DRAWINGS = """() => {
  window.drawings = 0;
  const observed = { subtree: true, childList: true, attributes: true };
  new MutationObserver(() => { window.drawings += 1; }).observe(document.querySelector(".graph"), observed);
}"""


def large_plan() -> list[dict[str, object]]:
    """Return steps that wait for the first one, and for some of those shortly before them."""
    rng = random.Random(20)
    names = [f"s{number}" for number in range(LARGE)]
    steps = [gate("s0")]
    for place, name in enumerate(names[1:], 1):
        needs = rng.sample(names[max(0, place - 25) : place], min(place, rng.choice([1, 1, 2])))
        steps.append(wait_step(name, *needs, ms=20))
    return steps


def test_a_large_plan_is_drawn_and_stays_usable(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """Events are drawn by the frame and not one by one. The picture moves, zooms, and opens a step."""
    place, turn_id = post_plan(api, large_plan())
    page = open_console(place)
    page.locator(".node").nth(LARGE - 1).wait_for(state="attached")
    page.evaluate(COUNT_DRAWINGS)
    open_gate(api, turn_id, "s0")
    wait_for_end(page)

    assert drawn(page) == dict.fromkeys([f"s{number}" for number in range(LARGE)], "succeeded")
    assert 0 < page.evaluate("() => window.drawings") < LARGE
    moved = page.locator(".graph > g")
    before = moved.get_attribute("transform")
    page.get_by_role("button", name="Zoom in").click()
    zoomed = moved.get_attribute("transform")
    page.get_by_role("button", name="Show all").click()
    assert len({before, zoomed, moved.get_attribute("transform")}) == 3
    page.locator(".timeline button.name", has_text="s7").first.click()
    expect(page.locator(".details h3")).to_contain_text("s7")


def test_steps_are_seen_to_wait_run_retry_and_fail(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """Each status that lasts is drawn, and the table says the same in words."""
    steps = [
        gate("gate"),
        wait_step("first", "gate", ms=600),
        wait_step("second", "first", ms=2_000),
        {"id": "flaky", "tool": "sim.flaky", "args": {"fail_times": 2}, "needs": ["first"]},
        {"id": "bad", "tool": "sim.fail", "args": {"code": "NOT_FOUND"}, "needs": ["first"]},
        {"id": "after", "tool": "sim.echo", "args": {"value": 1}, "needs": ["bad"]},
    ]
    place, turn_id = post_plan(api, steps)
    page = open_console(place)
    page.locator(".node").nth(len(steps) - 1).wait_for(state="attached")
    page.evaluate(WATCH)
    open_gate(api, turn_id, "gate")
    finished(api, turn_id)
    wait_for_end(page)

    statuses = seen(page)
    assert statuses["second"][-2:] == ["running", "succeeded"]
    assert "retrying" in statuses["flaky"]
    assert [statuses["bad"][-1], statuses["after"][-1]] == ["failed", "skipped"]
    page.get_by_text("Steps as a table").click()
    row = page.locator(".plan table tr", has=page.get_by_role("button", name="bad", exact=True))
    expect(row).to_contain_text("failed")
    expect(page.locator(".node.critical")).not_to_have_count(0)


def test_a_plan_is_read_with_the_keyboard_alone(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """Tab reaches the graph once, arrows go along the lines, Enter opens a step, Escape goes back to it."""
    place, turn_id = post_plan(api, [wait_step("a"), wait_step("b", "a"), wait_step("c", "b")])
    finished(api, turn_id)
    page = open_console(place)
    page.locator(".node").nth(2).wait_for()
    assert page.locator(".node[tabindex='0']").count() == 1
    page.locator(".node[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".details h3")).to_contain_text("b")
    page.keyboard.press("Escape")

    expect(page.locator(".details")).to_be_hidden()
    expect(page.locator(".node[data-step='b']")).to_be_focused()


def test_revisions_can_be_chosen(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """A plan that grew in rounds shows which steps each round brought."""
    conversation = f"browser-{uuid4()}"
    turn = post(api, KYOTO, agent="travel", mode="react", conversation_id=conversation)
    plans = finished(api, turn["turn_id"])["plans"]
    page = open_console(f"#/chat/{conversation}")
    revisions = page.get_by_role("group", name="Revisions of the plan").get_by_role("button")
    expect(revisions).to_have_count(1 + len(plans))
    expect(page.locator(".node.faded")).to_have_count(0)
    last = {step["id"] for step in plans[-2]["steps"]}
    revisions.nth(len(plans) - 1).click()

    expect(revisions.nth(len(plans) - 1)).to_have_attribute("aria-pressed", "true")
    bright = page.locator(".node:not(.faded)").evaluate_all("nodes => nodes.map(node => node.dataset.step)")
    assert set(bright) == last
    assert len(bright) < page.locator(".node").count()
