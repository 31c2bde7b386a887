"""A turn is run again from one of its steps, and its outcome is shown beside the record."""

import json
from collections.abc import Callable
from uuid import uuid4

import httpx2
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import EITHER, RESTARTS, Look, interrupt
from tests.journeys.following import run

READ = {"id": "r", "tool": "sim.wait", "args": {"ms": 1, "payload": "mine"}}
ECHO = {"id": "e", "tool": "sim.echo", "args": {"value": {"$from": "r.payload"}}}
ALONE = {"id": "w", "tool": "sim.write", "args": {"value": "x"}}


def turn_of(api: httpx2.Client) -> str:
    return str(run(api, [READ, ECHO, ALONE], conversation_id=f"fork-{uuid4()}")["turn_id"])


@EITHER
def test_a_step_is_chosen_and_its_result_changed(
    api: httpx2.Client, open_console: Callable[[str], Page], look: Look
) -> None:
    """What depends on it runs again with the other result. The turn itself stays as it is."""
    turn_id = turn_of(api)
    before = api.get(f"/v1/turns/{turn_id}").json()
    page = open_console(f"#/turns/{turn_id}")
    page.locator(".story .part").first.wait_for()
    if look.is_phone:
        page.locator(".status").click()
    page.locator(".node[data-step='r']").click()
    page.get_by_role("link", name="Run again from here…").click()
    expect(page.get_by_text("Runs again: r, e.")).to_be_visible()
    box = page.get_by_label("Result of step r")
    box.fill('{"ms": 1, "payload": ')
    page.get_by_role("button", name="Run it again").click()
    expect(page.get_by_role("alert")).to_contain_text("Result of step r is not JSON")
    box.fill('{"ms": 1, "payload": "<i>ours</i>"}')
    page.get_by_role("button", name="Run it again").click()
    expect(page.get_by_role("status").filter(has_text="It goes another way.")).to_be_visible()
    expect(page.locator(".forked .notes")).to_contain_text('sim.echo: value is "<i>ours</i>", was "mine"')
    expect(page.locator(".sides .graph-box")).to_have_count(2)
    page.get_by_role("region", name="Steps").get_by_role("button", name="e", exact=True).click()
    step = page.get_by_role("region", name="Step", exact=True)
    expect(step.get_by_role("region", name="As it was")).to_contain_text('"mine"')
    expect(step.get_by_role("region", name="Run again")).to_contain_text('"<i>ours</i>"')

    assert api.get(f"/v1/turns/{turn_id}").json() == before
    page.get_by_role("link", name="← Replays").click()
    expect(page.locator(".found tbody tr").first).to_contain_text("a turn from its step r")


def test_a_plan_is_changed(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """Each of its faults is told; the steps that have gone are named."""
    turn_id = turn_of(api)
    page = open_console(f"#/turns/{turn_id}?from=e")
    page.get_by_text("The plan", exact=True).click()
    box = page.get_by_label("Plan", exact=True)
    recorded = box.input_value()
    box.fill(recorded.replace("sim.echo", "no.tool").replace("sim.write", "no.other"))
    page.get_by_role("button", name="Run it again").click()
    for tool in ("no.tool", "no.other"):
        expect(page.get_by_role("alert").get_by_role("listitem").filter(has_text=tool).first).to_be_visible()
    box.fill(json.dumps({"steps": [READ]}))
    page.get_by_role("button", name="Run it again").click()
    page.locator(".forked .sides").first.wait_for()

    expect(page.locator(".forked .notes")).to_contain_text("tools")
    expect(page.get_by_role("region", name="Steps")).to_contain_text("only as it was")


def test_a_fork_is_followed_past_a_failure(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """The reason is told until the next look succeeds."""
    page = open_console(f"#/turns/{turn_of(api)}?from=e")

    def without_report(route: Route) -> None:
        interrupt(page, "**/v1/replays/*")
        route.fulfill(json=route.fetch().json() | {"report": None})

    page.route("**/v1/replays/*", without_report, times=1)
    page.get_by_role("button", name="Run it again").click()
    expect(page.locator(".list-page > .problem")).to_have_text(RESTARTS)

    expect(page.get_by_role("status").filter(has_text="It goes the same way.")).to_be_visible()
    expect(page.locator(".list-page > .problem")).to_be_empty()
