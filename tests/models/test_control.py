"""Control in the ledger: closed once and for all, and what a second message does to a busy conversation."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from typing import Any, Literal
from uuid import UUID

import pytest
from sqlalchemy import text

from models.contracts.turn import Reply, Usage
from models.database import statement, transaction
from models.ids import new_id
from models.ledger import control, events, recovery, steps, turns
from models.ledger.control import ClosedTurn
from models.ledger.steps import FinishedStep, Holder, Wanted
from models.ledger.turns import ClaimedTurn, Ending, FinalStatus
from models.settings import settings
from models.tables.turns import TurnRow
from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, record_plan, running_turn, step

pytestmark = pytest.mark.usefixtures("database")

HOLDER = Holder("worker/1", 6_000)
WRITE = step("w", tool="sim.write", args={"value": 7})
PLAN = {"steps": [step("a")]}


def close(turn_id: UUID | None, why: Literal["cancelled", "late"] = "cancelled") -> ClosedTurn | None:
    assert turn_id is not None
    with statement() as db:
        return control.close(db, turn_id, why)


def claim(turn_id: UUID, name: str) -> steps.Claim:
    with statement() as db:
        return steps.claim(db, turn_id, [[name]], 1, HOLDER)


def record(turn_id: UUID, name: str, status: steps.Ended = "succeeded") -> steps.Advance:
    done = FinishedStep(name, 1, status, result={}, error=None if status == "succeeded" else {"code": "NOT_FOUND"})
    with statement() as db:
        return steps.advance(db, turn_id, 1, [done], Wanted([], "tools.io", 4, mixed=True), HOLDER)


def lose(turn_id: UUID) -> None:
    with transaction() as db:
        db.execute(text("UPDATE steps SET lease_until = '-infinity' WHERE turn_id = :turn"), {"turn": turn_id})


def end(turn_id: UUID, attempt: int, status: FinalStatus = "cancelled") -> turns.FinishedTurn | None:
    with statement() as db:
        return turns.finish(db, turn_id, attempt, Ending(status, Reply(text="stopped"), {}, Usage()))


def view(turn_id: UUID | None) -> TurnRow:
    assert turn_id is not None
    with transaction() as db:
        row = turns.get(db, turn_id)
        assert row is not None
        return row


def statuses(turn_id: UUID) -> dict[str, str]:
    with transaction() as db:
        return {row.id: row.status for row in steps.of_turn(db, turn_id)}


def test_closing_ends_what_only_reads_and_leaves_what_acts() -> None:
    """Pending steps and running reads are cancelled; a write under way stays with its worker; nothing else starts."""
    turn = running_turn(step("r"), WRITE, step("after", "w"), step("later"))
    for name in ("r", "w"):
        claim(turn.id, name)

    closed = close(turn.id)

    assert closed is not None
    assert (closed.respond, view(turn.id).status, view(turn.id).open_steps) == (turn.attempt + 1, "responding", 1)
    assert statuses(turn.id) == {"r": "cancelled", "w": "running", "after": "cancelled", "later": "cancelled"}
    assert {event.data["error"]["code"] for event in closed.events} == {"CANCELLED"}
    assert claim(turn.id, "later").verdict in ("done", "closed")
    assert record(turn.id, "r").fenced == ["r"]


def test_a_closed_turn_is_closed_once() -> None:
    """The first reason counts; whoever comes later gets no fence, and a final turn is left alone."""
    turn = running_turn(step("a"))
    first, second = close(turn.id), close(turn.id, "late")

    assert first is not None
    assert second == ClosedTurn(turn.id, None, [])
    assert view(turn.id).ending == "cancelled"
    assert end(turn.id, first.respond or 0) is not None
    assert close(turn.id) is None
    assert view(turn.id).status == "cancelled"


@pytest.mark.parametrize("stage", ["queued", "planning", "running", "responding"])
def test_whoever_had_the_turn_has_lost_its_fence(stage: str) -> None:
    """Closing works at any moment, and its planner or responder can record neither a plan nor a reply."""
    opened = open_turn(make_tenant())
    turn = claim_turn(opened.turn_id) if stage != "queued" else None
    if turn is not None and stage != "planning":
        record_plan(turn, *([step("a")] if stage == "running" else []))

    closed = close(opened.turn_id)

    assert closed is not None
    assert view(opened.turn_id).status == "responding"
    assert turn is None or finish_turn(turn) is None
    assert claim_turn(opened.turn_id) is None
    assert end(closed.id, closed.respond or 0) is not None


def test_a_write_that_outlives_its_turn_is_recorded_without_an_event() -> None:
    """The final event stays the last one; the step's outcome is in the ledger, and nothing follows from it."""
    turn = running_turn(WRITE, step("after", "w"))
    claim(turn.id, "w")
    closed = close(turn.id)
    assert closed is not None
    end(turn.id, closed.respond or 0)
    before = view(turn.id)

    late = record(turn.id, "w")

    after = view(turn.id)
    assert (late.fenced, late.respond, late.events, late.claimed) == ([], None, [], [])
    assert statuses(turn.id) == {"w": "succeeded", "after": "cancelled"}
    assert (after.status, after.responding_at, after.lease_until) == ("cancelled", before.responding_at, None)
    assert after.open_steps == 0
    with transaction() as db:
        assert events.after(db, turn.id, 0)[-1].type == "turn.cancelled"


@pytest.mark.parametrize("is_final", [True, False])
def test_a_lost_write_of_a_closed_turn_is_unknown(is_final: bool) -> None:
    """Its lease runs out: it is never made again, and is on the operators' list."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    closed = close(turn.id)
    assert closed is not None
    if is_final:
        end(turn.id, closed.respond or 0)
    with transaction() as db:
        held = recovery.find_lost(db, timedelta(minutes=1), [], 10)
    lose(turn.id)

    with transaction() as db:
        lost = [(found.id, found.kind) for found in recovery.find_lost(db, timedelta(minutes=1), [], 10)]
    with statement() as db:
        told = recovery.give_up(db, turn.id)

    assert (held, lost) == ([], [(turn.id, "effect")])
    assert statuses(turn.id) == {"w": "unknown"}
    assert [event.type for event in told] == ([] if is_final else ["step.finished"])
    assert record(turn.id, "w").fenced == ["w"]


def test_a_turn_that_is_closed_while_it_waits_hands_nothing_on() -> None:
    """The active turn stays active, and the one behind the closed one is next."""
    tenant = make_tenant()
    first, second, third = (open_turn(tenant, on_busy="enqueue") for _ in range(3))
    active = claim_turn(first.turn_id)
    assert active is not None
    closed = close(second.turn_id)
    assert closed is not None

    ended = end(closed.id, closed.respond or 0)

    assert ended is not None
    assert ended.next_turn_id is None
    assert claim_turn(third.turn_id) is None
    finished = finish_turn(active)
    assert finished is not None
    assert finished.next_turn_id == third.turn_id


@pytest.mark.parametrize("status", ["queued", "planning", "running"])
def test_turns_past_their_deadline_are_found(status: str) -> None:
    """Those that wait, are planned or run; not before the grace is over, and not those that are being answered."""
    opened = open_turn(make_tenant())
    turn = claim_turn(opened.turn_id) if status != "queued" else None
    if turn is not None and status == "running":
        record_plan(turn, step("a"))
    with transaction() as db:
        early = control.find_late(db, timedelta(0), 10)
        db.execute(text("UPDATE turns SET deadline_at = clock_timestamp() - interval '2 s'"))
        soon = control.find_late(db, timedelta(seconds=5), 10)
        late = control.find_late(db, timedelta(seconds=1), 10)
    close(opened.turn_id, "late")

    with transaction() as db:
        assert (early, soon, late) == ([], [], [opened.turn_id])
        assert control.find_late(db, timedelta(0), 10) == []


def _queued(tenant: UUID) -> UUID | None:
    return open_turn(tenant).turn_id


def _planning(tenant: UUID) -> UUID | None:
    turn = claim_turn(_queued(tenant))
    return turn.id if turn else None


def _another_waits(tenant: UUID) -> UUID | None:
    active = _planning(tenant)
    open_turn(tenant, on_busy="enqueue")
    return active


def _running(*plan: dict[str, Any], claimed: str | None = None, ended: steps.Ended | None = None, unsure: bool = False):
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
    """Merge before anything happened, interrupt while only reads did, wait where a change is or may have been made."""
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
    assert not second.is_active


@pytest.mark.parametrize("policy", ["auto", "enqueue", "reject", "interrupt", "rollback", "merge"])
def test_with_no_active_turn_every_policy_opens_one(policy: str) -> None:
    """A conversation that is not busy is busy with nothing, whether it is new or has been answered."""
    tenant = make_tenant()
    first = open_turn(tenant, on_busy=policy)
    turn = claim_turn(first.turn_id)
    assert turn is not None
    finish_turn(turn)

    second = open_turn(tenant, on_busy=policy)

    assert [(opened.outcome, opened.seq, opened.is_active) for opened in (first, second)] == [
        ("opened", 1, True), ("opened", 2, True)
    ]


def test_a_merged_message_is_a_part_of_the_turn() -> None:
    """It stands below the first one, in the turn that waits longest in line; its planner gets both."""
    tenant = make_tenant()
    open_turn(tenant)
    waiting = open_turn(tenant, "first", on_busy="enqueue")

    merged = open_turn(tenant, "second", on_busy="merge")

    assert (merged.outcome, merged.turn_id, merged.seq, merged.is_active) == ("merged", waiting.turn_id, 2, False)
    assert view(waiting.turn_id).message == "first\nsecond"
    assert open_turn(tenant, on_busy="enqueue").seq == 3


def test_a_merged_message_that_comes_again_gives_the_same_turn() -> None:
    """Also after the turn has ended; with another body it is told apart; the first message keeps its own id."""
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
        ({"message": "x" * 7_995}, {"message": "yyyyy"}),
    ],
    ids=["own plan", "into a plan", "other agent", "other mode", "no room"],
)
def test_what_cannot_be_merged_waits(waiting: dict[str, Any], message: dict[str, Any]) -> None:
    """A caller's plan, a wish for something else, and what would be longer than one message may be."""
    tenant = make_tenant()
    open_turn(tenant, **waiting)

    second = open_turn(tenant, **message, on_busy="merge")

    assert (second.outcome, second.seq, second.is_active, second.closed) == ("opened", 2, False, None)


def test_two_messages_of_the_longest_length_together_fit() -> None:
    """The merged message has 8000 characters at most, as any other."""
    tenant = make_tenant()
    first = open_turn(tenant, "x" * 7_995)

    merged = open_turn(tenant, "yyyy", on_busy="merge")

    assert (merged.outcome, len(view(first.turn_id).message)) == ("merged", 8_000)


@pytest.mark.parametrize(("policy", "remembered"), [("interrupt", ["one", "two"]), ("rollback", ["two"])])
def test_later_turns_hear_of_what_was_interrupted_unless_it_was_rolled_back(
    policy: Any, remembered: list[str]
) -> None:
    """The exchange stays in the conversation; a rollback keeps it from the planner."""
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

    with transaction() as db:
        history = turns.history(db, third, 20)

    assert [message for message, _ in history] == remembered
    assert (ended.next_turn_id, ended.events[-1].data["superseded_by"]) == (second.turn_id, str(second.turn_id))


@pytest.fixture
def many_connections(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Room for thirty threads."""
    monkeypatch.setenv("TURNLOOM_DATABASE_POOL_SIZE", "32")
    settings.cache_clear()
    yield
    settings.cache_clear()


def _work_on(turn_id: UUID) -> None:
    """Plan a turn, run its step and answer it, as far as nobody takes it away."""
    turn = claim_turn(turn_id)
    if turn is None:
        return
    name, planned = ("a", step("a")) if turn.seq % 2 else ("w", WRITE)
    try:
        record_plan(turn, planned)
    except AssertionError:
        return  # it was closed meanwhile
    if claim(turn.id, name).verdict == "claimed" and (attempt := record(turn.id, name).respond) is not None:
        end(turn.id, attempt, "succeeded")


def _answer(closed: ClosedTurn | None, status: FinalStatus) -> None:
    if closed is not None and closed.respond is not None:
        end(closed.id, closed.respond, status)


def _active() -> UUID | None:
    with transaction() as db:
        return db.scalar(text("SELECT active_turn_id FROM conversations"))


def test_thirty_threads_on_one_conversation(many_connections: None) -> None:
    """Posting, cancelling, planning and finishing at once: no deadlock, one turn at a time, and all of them end."""
    tenant = make_tenant()
    policies = ["auto", "enqueue", "enqueue", "interrupt", "rollback", "merge", "reject"]

    def act(number: int) -> None:
        rng = random.Random(number)
        for _ in range(12):
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
