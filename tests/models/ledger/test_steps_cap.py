"""A limit on a turn's parallel steps is never exceeded, and no place stays free while a step is ready."""

import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import REGISTRY, running_turn, step
from tests.journeys.test_plans import random_dag
from tests.models.ledger.early import lanes, planning_turn, record_over, start_early
from tests.models.ledger.parking import change, delay
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import Plan
from turnloom.models.ledger import approvals, explanation, recovery, steps, turns
from turnloom.models.ledger.steps import Advance, Capacity, FinishedStep, Handover, Holder
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.planner.plan.graph import transitive_closure
from turnloom.workers.compiling import compile_plan
from turnloom.workers.recovery import recompile

pytestmark = pytest.mark.usefixtures("database")

HOLDER = Holder("worker/1", 6_000)


def wait(name: str, *needs: str) -> dict[str, Any]:
    return step(name, *needs, args={"ms": 1})


class Workers:
    """The workers of a capped turn: the steps that were sent to them, and the steps that they run."""

    def __init__(self, turn_id: UUID, sent: list[str], generation: int = 1) -> None:
        self.turn_id = turn_id
        self.sent = sent
        self.running: list[str] = []
        self.ended: list[str] = []
        self.generation = generation

    def start(self, name: str) -> None:
        with statement() as db:
            claim = steps.claim(db, self.turn_id, [[name]], self.generation, HOLDER)
        assert claim.verdict == "claimed"
        self.sent.remove(name)
        self.running.append(name)

    def end(self, name: str, take: int = 0) -> Advance:
        self.running.remove(name)
        self.ended.append(name)
        capacity = Capacity("tools.io", take, mixed=True)
        with statement() as db:
            finished = [FinishedStep(name, 1, "succeeded", result={"ms": 1, "payload": None})]
            after = steps.advance(db, self.turn_id, self.generation, Handover(finished), capacity, HOLDER)
        self.running += [name for lane in after.claimed for name in lane.steps]
        self.sent += [name for fragment in after.fragments for name in fragment["lane"]]
        return after

    @property
    def in_flight(self) -> set[str]:
        return {*self.sent, *self.running}


def sent_of(turn_id: UUID) -> list[str]:
    """Return the steps that were sent in the turn's generation and that no worker has claimed."""
    query = text(
        "SELECT s.id FROM turns t JOIN fragments f ON f.turn_id = t.id AND f.generation = t.generation"
        " JOIN steps s ON s.turn_id = t.id AND s.id = ANY (f.steps)"
        " WHERE t.id = :turn AND f.sent_at IS NOT NULL AND s.status = 'pending' ORDER BY s.position"
    )
    with transaction() as db:
        return list(db.scalars(query, {"turn": turn_id}))


@pytest.mark.parametrize("seed", range(16))
def test_as_many_as_the_cap_allows_are_under_way_and_never_more(seed: int) -> None:
    """This holds for any plan, in whatever order its steps start and end."""
    rng = random.Random(seed)
    needs, cap = random_dag(seed, 14), rng.randint(1, 3)
    turn = running_turn(*(wait(name, *before) for name, before in needs.items()), cap=cap)
    workers = Workers(turn.id, sent_of(turn.id))

    while workers.in_flight:
        ready = {name for name, before in needs.items() if set(before) <= set(workers.ended)} - set(workers.ended)
        assert workers.in_flight <= ready
        if is_capped(turn):
            assert len(workers.in_flight) == min(cap, len(ready))
        chosen = rng.choice(sorted(workers.in_flight))
        if chosen in workers.sent:
            workers.start(chosen)
        else:
            workers.end(chosen, take=rng.randint(0, 2))

    assert sorted(workers.ended) == sorted(needs)
    place = {name: index for index, name in enumerate(workers.ended)}
    assert all(place[need] < place[name] for name, before in transitive_closure(needs).items() for need in before)


def is_capped(turn: ClaimedTurn) -> bool:
    with transaction() as db:
        row = turns.get(db, turn.id)
    return row is not None and row.max_parallel is not None


@pytest.mark.parametrize(
    ("names", "cap", "capped"),
    [("abc", 3, False), ("abcd", 3, True), ("abcd", None, False)],
)
def test_a_plan_that_cannot_exceed_the_cap_is_compiled_without_one(names: str, cap: int | None, capped: bool) -> None:
    """It becomes an ordinary canvas. In other plans each step is a fragment, sent when a place is free."""
    forked = [wait("root"), *(wait(name, "root") for name in names), wait("join", *names)]
    compiled = compile_plan(Plan.model_validate({"steps": forked}), REGISTRY, "spread", cap)

    assert compiled.max_parallel == (cap if capped else None)
    assert len(compiled.fragments) == (len(forked) if capped else 1)


def test_recovery_sends_no_more_than_there_are_places_for() -> None:
    """Steps that are still running keep their places in the new generation."""
    turn = running_turn(*(wait(name) for name in "abcde"), cap=2)
    workers = Workers(turn.id, sent_of(turn.id))
    workers.start("a")

    recompile(turn.id)

    assert sent_of(turn.id) == ["b"]
    workers.end("a")
    assert sent_of(turn.id) == ["b", "c"]


def lost() -> list[UUID]:
    with transaction() as db:
        return [turn.id for turn in recovery.find_lost(db, timedelta(0), (), 100)]


def test_steps_that_wait_for_a_place_are_not_lost() -> None:
    """Steps that were sent and never taken are lost. A step without a place is no cause of waiting."""
    turn = running_turn(*(wait(name) for name in "abc"), cap=2)
    workers = Workers(turn.id, sent_of(turn.id))
    unclaimed = lost()
    for name in "ab":
        workers.start(name)

    assert (unclaimed, lost()) == ([turn.id], [])
    with transaction() as db:
        row = turns.get(db, turn.id)
        assert row is not None
        facts = explanation.gather(db, row, timedelta(seconds=6))
    assert [each.id for each in facts.steps] == ["a", "b"]


def test_a_parked_step_leaves_its_place_to_others() -> None:
    """Recovery finds the free place."""
    turn = running_turn(*(wait(name) for name in "abc"), cap=1)
    workers = Workers(turn.id, sent_of(turn.id))
    workers.start("a")
    failure = FinishedStep("a", 1, "failed", error={"code": "RATE_LIMITED", "message": "later"})
    before = lost()

    with statement() as db:
        assert approvals.delay(db, turn.id, failure, [timedelta(seconds=30)], 3) is not None

    assert (before, lost()) == ([], [turn.id])
    recompile(turn.id)
    assert sent_of(turn.id) == ["b"]


def test_early_steps_take_up_places_too() -> None:
    """Steps beyond the cap wait in the ledger, before and after the plan is complete."""
    turn = planning_turn()

    started = [start_early(turn, wait(name), first=number, cap=2) for number, name in enumerate("abc")]
    recorded = record_over(turn, set("abc"), *(wait(name) for name in "abcd"), cap=2)

    assert [start and start.ready for start in started] == [[0], [1], []]
    assert recorded is not None
    assert (recorded.fragments, sent_of(turn.id)) == ([], ["a", "b"])
    workers = Workers(turn.id, ["a", "b"])
    workers.start("a")
    workers.end("a")
    assert workers.sent == ["b", "c"]


def test_an_early_step_that_was_parked_takes_no_place() -> None:
    """Its time may come before the plan is recorded. Nobody is notified, and the other steps go on."""
    turn = planning_turn()
    start_early(turn, wait("a"), cap=1)
    early = Workers(turn.id, ["a"], turn.generation)
    early.start("a")
    assert delay(turn.id, "a") is not None
    change("UPDATE steps SET not_before = clock_timestamp() - interval '1 ms' WHERE id = 'a'")
    recorded = record_over(turn, {"a"}, *(wait(name) for name in "abc"), cap=1)
    assert recorded is not None
    workers = Workers(turn.id, [name for lane in lanes(recorded) for name in lane], turn.generation)
    workers.start("b")

    workers.end("b")

    assert workers.sent == ["c"]
