"""Operators decide and send again what did not end properly, each time after a question."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from sqlalchemy import text

from tests.browser.axe import NEEDS_AXE, faults
from tests.browser.conftest import EITHER, RESTARTS, Look, interrupt
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
COPIES = 60


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
def many(stack: Stack, undecided: UUID) -> Iterator[UUID]:
    """A final turn with many more such writes, which end before `w` in the list."""
    columns = "tenant_id, turn_id, revision, position, tool, args, needs, inputs, effect, queue, inline, critical"
    columns += ", fallbacks, on_need_error, timeout_ms, status, attempt, started_at, finished_at"
    copies = f"SELECT 'w' || number, {columns} FROM steps, generate_series(1, {COPIES}) AS number"
    with environment_of(stack), transaction() as db:
        db.execute(
            text(f"INSERT INTO steps (id, {columns}) {copies} WHERE turn_id = :turn AND id = 'w'"), {"turn": undecided}
        )
    yield undecided
    with environment_of(stack), transaction() as db:
        db.execute(text("DELETE FROM steps WHERE turn_id = :turn"), {"turn": undecided})


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
@NEEDS_AXE
def test_the_question_has_nothing_serious(signed_in: SignIn, undecided: UUID, look: Look) -> None:
    """Everybody can read it and answer it."""
    page = signed_in()
    go(page, "#/operations")
    letter_of(page, undecided).get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_contain_text("idempotency key")

    assert faults(page) == []


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
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(row.get_by_role("button")).to_be_focused()
    row.get_by_role("button").click()
    question.get_by_label("It took effect", exact=True).check()
    question.get_by_label("What it would have returned").fill("B-17")
    question.get_by_role("button", name="Record it for good").click()
    expect(question.get_by_role("alert")).to_contain_text("no JSON object")
    question.get_by_label("What it would have returned").fill('{"worth": 7}')
    question.get_by_role("button", name="Record it for good").click()
    expect(question.get_by_role("alert")).to_contain_text("the result is none of sim.write: value: Field required")
    question.get_by_label("What it would have returned").fill('{"value": 7, "key": "k", "first": true}')
    question.get_by_label("How you found out").fill("found in the backend")
    question.get_by_role("button", name="Record it for good").click()

    expect(row).to_have_count(0)
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


def test_older_dead_letters_are_shown_and_decided(signed_in: SignIn, many: UUID) -> None:
    """What stands beyond the first page is one button away; if that fails, the reason stands beside it."""
    page = signed_in()
    go(page, "#/operations")
    rows = page.get_by_role("region", name="Table: Dead letters of acme").locator("tbody tr")
    expect(rows).to_have_count(50)
    interrupt(page, "**/v1/dead-letters?*cursor=*")
    more = page.locator(".letters").get_by_role("button", name="Show more")
    more.click()
    expect(page.locator(".letters").get_by_role("alert").filter(has_text=RESTARTS)).to_be_visible()
    more.click()
    last = letter_of(page, many).filter(has_text="step w, sim.write")
    expect(page.locator(".letters").get_by_role("alert").filter(has_text=RESTARTS)).to_have_count(0)
    last.get_by_role("button").click()
    page.get_by_role("dialog").get_by_label("It did not take effect").check()
    page.get_by_role("button", name="Record it for good").click()

    expect(last).to_have_count(0)
    expect(letter_of(page, many)).to_have_count(COPIES)


def test_dead_letters_are_read_again_after_a_failure(signed_in: SignIn, undecided: UUID) -> None:
    """One answer that says nothing does not leave the list empty until something else happens."""
    page = signed_in()
    interrupt(page, "**/v1/dead-letters*")
    go(page, "#/operations")
    expect(page.locator(".letters > .problem").first).to_have_text(RESTARTS)

    expect(letter_of(page, undecided)).to_be_visible()
    expect(page.locator(".letters > .problem").first).to_be_empty()


def test_dead_letters_are_read_again_at_times(stack: Stack, signed_in: SignIn, undecided: UUID) -> None:
    """Also if as many have gone as have come, so that their counts are what they were."""
    page = signed_in()
    page.clock.install()
    answers: list[Any] = []

    def with_the_first_counts(route: Route) -> None:
        answers.append(route.fetch().json())
        route.fulfill(json=answers[-1] | {"dead_letters": answers[0]["dead_letters"]})

    page.route("**/v1/operations", with_the_first_counts)
    go(page, "#/operations")
    expect(letter_of(page, undecided)).to_be_visible()
    with environment_of(stack):
        new = undecided_turn(conversation_id=f"browser-{uuid4()}")
    page.clock.fast_forward(31_000)

    expect(letter_of(page, new)).to_be_visible()
