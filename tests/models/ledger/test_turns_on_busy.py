"""A busy conversation gets another message, or thirty at once."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, heard, make_tenant, open_turn, record_plan, running_turn, step
from tests.models.ledger.stopping import WRITE, claim, close, end, record, view
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.plan import FinalStepStatus
from turnloom.models.contracts.turn import FinalTurnStatus
from turnloom.models.ledger.cancellation import ClosedTurn
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings

pytestmark = pytest.mark.usefixtures("database")

PLAN = {"steps": [step("a")]}


def _queued(tenant: UUID) -> UUID | None:
    return open_turn(tenant).turn_id


def _planning(tenant: UUID) -> UUID | None:
    turn = claim_turn(_queued(tenant))
    return turn.id if turn else None


def _another_waits(tenant: UUID) -> UUID | None:
    active = _planning(tenant)
    open_turn(tenant, on_busy="enqueue")
    return active


def _running(
    *plan: dict[str, Any], claimed: str | None = None, ended: FinalStepStatus | None = None, unsure: bool = False
):
    def make(_: UUID) -> UUID | None:
        turn = running_turn(*plan)
        if claimed:
            claim(turn.id, claimed)
        if claimed and ended:
            record(turn.id, claimed, ended)
        if unsure:
            with transaction() as db:
                db.execute(text("UPDATE steps SET status = 'pending', unsure = true WHERE id = 'w'"))
        return turn.id

    return make


def _closing(tenant: UUID) -> UUID | None:
    active = _planning(tenant)
    close(active)
    return active


AUTO: dict[str, tuple[Callable[[UUID], UUID | None], str]] = {
    "not begun": (_queued, "merged"),
    "another one waits": (_another_waits, "merged"),
    "in planning": (_planning, "interrupted"),
    "nothing started": (_running(step("r"), WRITE), "interrupted"),
    "a read under way": (_running(step("r"), WRITE, claimed="r"), "interrupted"),
    "a read done": (_running(step("r"), WRITE, claimed="r", ended="succeeded"), "interrupted"),
    "a write under way": (_running(step("r"), WRITE, claimed="w"), "enqueued"),
    "a write done": (_running(step("r"), WRITE, claimed="w", ended="succeeded"), "enqueued"),
    "a write given up": (_running(step("r"), WRITE, claimed="w", ended="unknown"), "enqueued"),
    "a write lost, to be asked about": (_running(step("r"), WRITE, claimed="w", unsure=True), "enqueued"),
    "a write refused": (_running(step("r"), WRITE, claimed="w", ended="failed"), "interrupted"),
    "closed already": (_closing, "enqueued"),
}


@pytest.mark.parametrize("case", AUTO)
def test_auto_chooses_by_what_has_happened(case: str) -> None:
    """It merges before anything began, interrupts if only reads ran, and waits if data may have been changed."""
    tenant = make_tenant()
    active = AUTO[case][0](tenant)
    expected = AUTO[case][1]

    second = open_turn(tenant, "and this")

    row = view(active)
    became = "merged" if second.outcome == "merged" else "enqueued"
    if second.closed is not None and second.closed.respond is not None:
        became = "interrupted"
        assert (row.ending, row.superseded_by, second.closed.id) == ("superseded", second.turn_id, active)
    assert became == expected
    assert not second.is_sent


@pytest.mark.parametrize("policy", ["auto", "enqueue", "reject", "interrupt", "rollback", "merge"])
def test_with_no_active_turn_every_policy_opens_one(policy: str) -> None:
    """The conversation is not busy, whether it is new or has been answered."""
    tenant = make_tenant()
    first = open_turn(tenant, on_busy=policy)
    turn = claim_turn(first.turn_id)
    assert turn is not None
    finish_turn(turn)

    second = open_turn(tenant, on_busy=policy)

    assert [(opened.outcome, opened.seq, opened.is_sent) for opened in (first, second)] == [
        ("opened", 1, True),
        ("opened", 2, True),
    ]


def test_a_merged_message_is_a_part_of_the_turn() -> None:
    """The last turn in line has it below its first message, and its planner gets both."""
    tenant = make_tenant()
    open_turn(tenant)
    waiting = open_turn(tenant, "first", on_busy="enqueue")

    merged = open_turn(tenant, "second", on_busy="merge")

    assert (merged.outcome, merged.turn_id, merged.seq, merged.is_sent) == ("merged", waiting.turn_id, 2, False)
    assert view(waiting.turn_id).message == "first\nsecond"
    assert open_turn(tenant, on_busy="enqueue").seq == 3


@pytest.mark.parametrize(
    ("first", "second", "outcome", "kept"),
    [
        (None, "https://a.example/", "merged", "https://a.example/"),
        ("https://a.example/", None, "merged", "https://a.example/"),
        ("https://a.example/", "https://a.example/", "merged", "https://a.example/"),
        ("https://a.example/", "https://b.example/", "opened", "https://a.example/"),
    ],
)
def test_a_merged_message_brings_its_callback(first: str | None, second: str | None, outcome: str, kept: str) -> None:
    """One turn calls back one address: a message that names another one waits for a turn of its own."""
    tenant = make_tenant()
    waiting = open_turn(tenant, callback_url=first)

    joined = open_turn(tenant, on_busy="merge", callback_url=second)

    assert waiting.turn_id is not None
    assert (joined.outcome, view(waiting.turn_id).callback_url) == (outcome, kept)


def test_a_merged_message_that_comes_again_gives_the_same_turn() -> None:
    """This holds after the turn has ended, too. Another body is a conflict, and the first message keeps its id."""
    tenant = make_tenant()
    first = open_turn(tenant, "first", message_id="m1", body=b"one")
    merged = open_turn(tenant, "second", message_id="m2", body=b"two")
    turn = claim_turn(first.turn_id)
    assert turn is not None
    finish_turn(turn)

    again = [open_turn(tenant, message_id=name, body=body) for name, body in (("m1", b"one"), ("m2", b"two"))]
    other = open_turn(tenant, message_id="m2", body=b"other")

    assert merged.outcome == "merged"
    assert [(copy.outcome, copy.turn_id) for copy in again] == [("repeated", first.turn_id)] * 2
    assert (other.outcome, other.turn_id) == ("mismatched", first.turn_id)
    assert turn.message == "first\nsecond"


@pytest.mark.parametrize(
    ("waiting", "message"),
    [
        ({}, {"plan": PLAN}),
        ({"plan": PLAN}, {}),
        ({}, {"agent": "travel"}),
        ({}, {"mode": "direct"}),
        ({}, {"llm": "small"}),
        ({"message": "x" * 7_995}, {"message": "yyyyy"}),
    ],
    ids=["own plan", "into a plan", "other agent", "other mode", "other llm", "no room"],
)
def test_a_message_that_cannot_be_merged_waits(waiting: dict[str, Any], message: dict[str, Any]) -> None:
    """This holds for a caller's plan, another agent, mode or language model, and a text beyond the longest message."""
    tenant = make_tenant()
    open_turn(tenant, **waiting)

    second = open_turn(tenant, **message, on_busy="merge")

    assert (second.outcome, second.seq, second.is_sent, second.closed) == ("opened", 2, False, None)


def test_two_messages_that_fit_into_one_are_merged() -> None:
    """The merged message has 8000 characters at most, like any other."""
    tenant = make_tenant()
    first = open_turn(tenant, "x" * 7_995)

    merged = open_turn(tenant, "yyyy", on_busy="merge")

    assert (merged.outcome, len(view(first.turn_id).message)) == ("merged", 8_000)


@pytest.mark.parametrize(("policy", "remembered"), [("interrupt", ["one", "two"]), ("rollback", ["two"])])
def test_later_turns_get_interrupted_messages_unless_rolled_back(policy: Any, remembered: list[str]) -> None:
    """The exchange stays in the conversation. A rollback keeps it from the planner."""
    tenant = make_tenant()
    first = claim_turn(open_turn(tenant, "one").turn_id)
    assert first is not None
    second = open_turn(tenant, "two", on_busy=policy)
    assert second.closed is not None
    ended = end(first.id, second.closed.respond or 0, "superseded")
    assert ended is not None
    turn = claim_turn(second.turn_id)
    assert turn is not None
    finish_turn(turn)
    third = claim_turn(open_turn(tenant, "three").turn_id)
    assert third is not None

    assert [message for message, _ in heard(third)] == remembered
    assert (ended.released, ended.events[-1].data["superseded_by"]) == ([second.turn_id], str(second.turn_id))


@pytest.fixture
def many_connections(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the pool connections for thirty threads."""
    monkeypatch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "32")
    settings.cache_clear()
    yield
    settings.cache_clear()


def _work_on(turn_id: UUID) -> None:
    """Plan a turn, run its step and answer it, until another thread takes the turn."""
    turn = claim_turn(turn_id)
    if turn is None:
        return
    name, planned = ("a", step("a")) if turn.seq % 2 else ("w", WRITE)
    try:
        record_plan(turn, planned)
    except AssertionError:
        return  # another thread has closed it
    if claim(turn.id, name).verdict == "claimed" and (attempt := record(turn.id, name).respond) is not None:
        end(turn.id, attempt, "succeeded")


def _answer(closed: ClosedTurn | None, status: FinalTurnStatus) -> None:
    if closed is not None and closed.respond is not None:
        end(closed.id, closed.respond, status)


def _active() -> UUID | None:
    with transaction() as db:
        return db.scalar(text("SELECT active_turn_id FROM conversations"))


def test_thirty_threads_on_one_conversation(many_connections: None) -> None:
    """Threads post, cancel, plan and finish at once without a deadlock. One turn runs at a time, and all end."""
    tenant = make_tenant()
    policies = ["auto", "enqueue", "enqueue", "interrupt", "rollback", "merge", "reject"]

    def act(number: int) -> None:
        rng = random.Random(number)
        for _ in range(5):
            opened = open_turn(tenant, str(new_id()), on_busy=rng.choice(policies))
            _answer(opened.closed, "superseded")
            if opened.turn_id is not None and rng.random() < 0.2:
                _answer(close(opened.turn_id), "cancelled")
            if (active := _active()) is not None:
                _work_on(active)

    with ThreadPoolExecutor(30) as pool:
        list(pool.map(act, range(30)))
    while (active := _active()) is not None:
        _work_on(active)

    with transaction() as db:
        rows = db.execute(text("SELECT seq, status, planning_at, finished_at FROM turns ORDER BY seq")).all()
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert {row.status for row in rows} == {"succeeded", "cancelled", "superseded"}
    worked = sorted((row.planning_at, row.finished_at) for row in rows if row.planning_at)
    assert len(worked) > 5
    assert all(end <= start for (_, end), (start, _) in pairwise(worked))
