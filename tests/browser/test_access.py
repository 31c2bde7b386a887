"""Everybody can use the console: axe finds nothing serious, on any screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.axe import NEEDS_AXE, faults
from tests.browser.conftest import DESKTOP, PHONE, Look
from tests.browser.speaking import choose_agent, post_plan, say, wait_for_end
from tests.journeys.following import run, wait_step
from tests.journeys.stacks import client_of
from turnloom.workers.embedded.stack import Stack

pytestmark = NEEDS_AXE
SCREENS = pytest.mark.parametrize(
    "look",
    [DESKTOP, DESKTOP._replace(scheme="dark"), PHONE._replace(scheme="light"), PHONE],
    ids=["desktop, light", "desktop, dark", "phone, light", "phone, dark"],
)


@SCREENS
def test_the_chat_has_nothing_serious(console: Page, look: Look) -> None:
    """Neither before the first message, nor with a table and suggestions, nor with a step opened."""
    first = faults(console)
    choose_agent(console, "hotel")
    say(console, "A room next weekend for 2 adults and a child of 5")
    wait_for_end(console)
    console.locator(".artifact.table").wait_for()
    answered = faults(console)
    console.locator(".status").click()
    console.locator(".node").first.click()
    console.locator(".details").wait_for()
    console.get_by_text("Steps as a table").click()
    opened = faults(console)

    assert [first, answered, opened] == [[], [], []]


@pytest.fixture(scope="module")
def places(stack: Stack) -> dict[str, str]:
    """The addresses of pages that show one thing: a turn's story, its rerun, a replay, a rollout, an approval."""
    with client_of(stack) as api:
        ended = run(api, [wait_step("a"), wait_step("b", "a")])["turn_id"]
        fork = api.post(f"/v1/turns/{ended}/forks", json={"step": "a"}).json()["replay_id"]
        asked = {"name": "agents/hotel", "text": "max_depth: 5", "share": 0.5}
        rollout = api.post("/v1/rollouts", json=asked).json()["id"]
        api.post(f"/v1/rollouts/{rollout}/stop")
        place, turn_id = post_plan(api, [{"id": "pay", "tool": "sim.approve", "args": {"value": 1}}])
    return {
        "story": f"#/turns/{turn_id}",
        "rerun": f"#/turns/{ended}?from=a",
        "replay": f"#/replays/{fork}",
        "rollout": f"#/rollouts/{rollout}",
        "approval": place,
    }


@SCREENS
@pytest.mark.parametrize(
    "seen_on",
    [
        {"#/turns": ".found a", "story": ".story .part", "rerun": ".one textarea", "replay": ".forked .node"},
        {"#/operations": ".chart canvas", "#/replays": ".found tbody tr", "#/rollouts": ".found tbody a"},
        {"rollout": ".one .facts", "#/quality": ".quality h2", "#/prompts/agents/hotel": ".editor textarea"},
        {"approval": ".approval"},
    ],
    ids=["turns", "operations", "texts", "approval"],
)
def test_other_pages_have_nothing_serious(
    places: dict[str, str], open_console: Callable[[str], Page], look: Look, seen_on: dict[str, str]
) -> None:
    """Each page, as soon as it is there."""
    page = open_console("")
    found = {}
    for name, part in seen_on.items():
        page.goto(f"/{places.get(name, name)}")
        page.locator(part).first.wait_for()
        found[name] = faults(page)

    assert not any(found.values()), found


@SCREENS
def test_the_form_to_sign_in_has_nothing_serious(console: Page, look: Look) -> None:
    console.get_by_role("button", name="Sign out").click()
    console.locator("#key").wait_for()

    assert faults(console) == []
