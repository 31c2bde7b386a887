"""Planners get a tenant's turns a window at a time, so that other tenants do not wait behind all of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, record_plan, released, work, work_all
from tests.models.ledger.parking import APPROVED, ask
from tests.models.ledger.stopping import claim, view
from tests.models.ledger.test_explanation import why
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import backlog, recovery
from turnloom.models.runtime.settings import settings

WINDOW = 2


@pytest.fixture(autouse=True)
def window(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Allow two turns of one tenant at a time."""
    _set(monkeypatch, WINDOW)
    yield monkeypatch
    settings.cache_clear()


def _set(patch: pytest.MonkeyPatch, turns_at_a_time: int) -> None:
    patch.setenv("TURNLOOM_TENANT_WINDOW", str(turns_at_a_time))
    patch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "20")
    settings.cache_clear()


def _open(tenant: UUID, count: int, first: int = 0) -> list[UUID]:
    """Open turns in separate conversations."""
    opened = [open_turn(tenant, conversation_id=f"c{number}") for number in range(first, first + count)]
    return [turn.turn_id for turn in opened if turn.turn_id]


def _sent(turn_ids: list[UUID]) -> list[bool]:
    return [view(turn_id).sent_at is not None for turn_id in turn_ids]


def _handed_out(tenant: UUID) -> int:
    with transaction() as db:
        return backlog.count_handed_out(db, tenant)


def test_a_turn_over_the_window_is_held() -> None:
    """It is accepted and queued, but no planner may take it. Another tenant's turn passes it."""
    noisy, quiet = make_tenant("noisy"), make_tenant("quiet")

    held = _open(noisy, 4)
    other = _open(quiet, 1)

    assert _sent(held + other) == [True, True, False, False, True]
    assert view(held[2]).status == "queued"
    assert claim_turn(held[2]) is None
    assert released() == []


def test_the_end_of_a_turn_releases_the_one_that_is_due_longest() -> None:
    """The next turn of the same conversation comes after those that were due before it."""
    tenant = make_tenant()
    first, second, third, fourth = _open(tenant, 4)
    follower = open_turn(tenant, conversation_id="c0", on_busy="enqueue").turn_id

    assert work(first) == [third]
    assert work(second) == [fourth]
    assert work(third) == [follower]
    assert _handed_out(tenant) == WINDOW


def test_a_held_turn_is_explained() -> None:
    """The explanation has the number of its tenant's turns in work."""
    held = _open(make_tenant(), 3)[-1]

    found = why(held)

    assert (found.cause, found.since) == ("tenant_busy", view(held).created_at)
    assert "2 turns of the tenant are in work, of 2" in found.message


def test_a_turn_that_waits_for_a_person_makes_room() -> None:
    """Nobody works on it, so the next release hands out another turn."""
    tenant = make_tenant()
    asking, _, held = _open(tenant, 3)
    turn = claim_turn(asking)
    assert turn is not None
    record_plan(turn, APPROVED)
    claim(asking, "w")
    before = released()
    ask(asking)

    assert (before, view(asking).status) == ([], "waiting_approval")
    assert released() == [held]


def test_without_a_window_nothing_is_held(window: pytest.MonkeyPatch) -> None:
    """If the window is switched off, the turns that it held go on."""
    tenant = make_tenant()
    held = _open(tenant, 5)[WINDOW:]

    _set(window, 0)

    assert _sent(_open(tenant, 3, first=5)) == [True] * 3
    assert released() == held


def test_the_sweep_finds_turns_that_were_released_and_not_sent() -> None:
    """A process may die between release and send. The row is the outbox, as for every turn."""
    tenant = make_tenant()
    first, _, third = _open(tenant, 3)
    work(first)

    with transaction() as db:
        taken = recovery.take_unsent(db, timedelta(), 10)

    assert third in taken


def test_every_tenant_has_its_own_window() -> None:
    """One look releases the due turns of all tenants."""
    tenants = [make_tenant(name) for name in "abc"]
    held = [_open(tenant, 3)[-1] for tenant in tenants]
    with transaction() as db:
        db.execute(text("UPDATE turns SET status = 'succeeded', finished_at = now() WHERE conversation_id = 'c0'"))

    assert sorted(released()) == sorted(held)


def test_sixteen_at_once_lose_nothing() -> None:
    """Threads post, end and release at once. All turns end, and at most a few too many are in work."""
    tenant = make_tenant()
    most = []

    def act(number: int) -> None:
        ready = _open(tenant, 6, first=10 * number)
        ready = [turn_id for turn_id in ready if view(turn_id).sent_at]
        while ready:
            most.append(_handed_out(tenant))
            turn = claim_turn(ready.pop())
            if turn is not None and (finished := finish_turn(turn)):
                ready += finished.released

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(act, range(16)))
    work_all()

    with transaction() as db:
        assert db.execute(text("SELECT status, count(*) FROM turns GROUP BY status")).all() == [("succeeded", 96)]
    assert max(most) <= WINDOW + 16
