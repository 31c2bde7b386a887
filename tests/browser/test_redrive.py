"""Operators decide and send again what did not end properly, each time after a question."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import EITHER, Look
from tests.browser.test_access import faults
from tests.factories import make_tenant
from tests.facts import wait_for
from tests.journeys.stacks import environment_of
from tests.models.ledger.channel_turns import answered
from tests.models.ledger.stopping import undecided_turn
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.scope import SCOPES, Scope
from turnloom.models.ledger import dead_letters, keys
from turnloom.workers.embedded.stack import Stack

SignIn = Callable[..., Page]


@pytest.fixture
def signed_in(stack: Stack, open_console: Callable[[str], Page]) -> SignIn:
    """Sign in at the console with a key of the tenant of the factories; it has all scopes by default."""

    def sign_in(*scopes: Scope) -> Page:
        with environment_of(stack):
            tenant_id = make_tenant()
            with transaction() as db:
                _, key = keys.create(db, tenant_id, "night shift", scopes or SCOPES)
        page = open_console("")
        page.get_by_role("button", name="Sign out").click()
        page.fill("#key", key)
        page.press("#key", "Enter")
        page.locator("nav").get_by_role("link", name="Operations").wait_for()
        return page

    return sign_in


@pytest.fixture
def undecided(stack: Stack) -> UUID:
    """A final turn with a write `w` of unknown outcome."""
    with environment_of(stack):
        return undecided_turn(conversation_id=f"browser-{uuid4()}")


@pytest.fixture
def stranded(stack: Stack) -> UUID:
    """A turn of a channel whose account is not there, so that the workers could not send its reply."""
    number = uuid4().int % 10**9
    with environment_of(stack):
        turn = answered(number, sender=f"u{number}")

        def has_failed() -> bool:
            with transaction() as db:
                return turn in [letter.turn_id for letter in dead_letters.listed(db, None, 200)]

        wait_for(has_failed, 20)
    return turn


def go(page: Page, place: str) -> None:
    """Go to a place as a link in the page does: a new start would sign in as somebody else."""
    page.evaluate("place => { location.hash = place }", place)


def letter_of(page: Page, turn_id: UUID) -> Locator:
    """Return the row of a turn's dead letter."""
    letters = page.get_by_role("region", name="Table: Dead letters of acme")
    return letters.locator("tr", has=page.locator(f"a[href='#/turns/{turn_id}']"))


@EITHER
def test_a_step_is_decided_where_dead_letters_are_listed(signed_in: SignIn, undecided: UUID, look: Look) -> None:
    """The question shows the call. What is no result is refused; whoever thinks better of it changes nothing."""
    page = signed_in()
    go(page, "#/operations")
    row = letter_of(page, undecided)
    row.get_by_role("button").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("idempotency key")
    expect(question.locator(".json")).to_contain_text('"value": 5')
    wrong = faults(page)
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(row.get_by_role("button")).to_be_focused()
    row.get_by_role("button").click()
    question.get_by_label("It took effect", exact=True).check()
    question.get_by_label("What it would have returned").fill("B-17")
    question.get_by_role("button", name="Record it for good").click()
    expect(question.get_by_role("alert")).to_contain_text("no JSON object")
    question.get_by_label("What it would have returned").fill('{"value": 7}')
    question.get_by_label("How you found out").fill("found in the backend")
    question.get_by_role("button", name="Record it for good").click()

    expect(row).to_have_count(0)
    assert wrong == []
    go(page, f"#/turns/{undecided}")
    page.get_by_text("Audit log").click()
    expect(page.locator(".story table", has_text="step.decided")).to_contain_text("night shift")


def test_a_step_is_decided_in_its_turns_story(signed_in: SignIn, undecided: UUID) -> None:
    """The sheet of the step asks, and then shows what was decided."""
    page = signed_in()
    go(page, f"#/turns/{undecided}")
    page.locator(".node[data-step='w']").click()
    page.locator(".details").get_by_role("button", name="Decide what became of it").click()
    page.get_by_role("dialog").get_by_label("It did not take effect").check()
    page.get_by_role("button", name="Record it for good").click()

    expect(page.locator(".node[data-step='w'].failed")).to_be_visible()
    expect(page.locator(".details").get_by_role("button", name="Decide")).to_have_count(0)
    expect(page.locator(".details")).to_be_focused()


def test_a_part_is_sent_again_in_its_turns_story(signed_in: SignIn, stranded: UUID) -> None:
    """It is tried once more."""
    page = signed_in()
    go(page, f"#/turns/{stranded}")
    parts = page.locator(".story table", has_text="Provider's id")
    before = parts.locator("tbody td").nth(2).inner_text()
    page.get_by_role("button", name="Send part 1 again").click()
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    page.get_by_role("dialog").wait_for(state="detached")
    go(page, "#/operations")
    letter_of(page, stranded).get_by_role("link").click()

    expect(parts.locator("tbody td").nth(2)).not_to_have_text(before)


def test_who_may_only_read_is_offered_nothing(signed_in: SignIn, undecided: UUID) -> None:
    """Dead letters are listed, without buttons."""
    page = signed_in("operations:read", "turns:read", "admin")
    go(page, "#/operations")
    row = letter_of(page, undecided)
    expect(row).to_contain_text("step w, sim.write")

    expect(row.get_by_role("button")).to_have_count(0)
    go(page, f"#/turns/{undecided}")
    page.locator(".node[data-step='w']").click()
    expect(page.locator(".details h3")).to_contain_text("w")
    expect(page.locator(".details").get_by_role("button", name="Decide")).to_have_count(0)
