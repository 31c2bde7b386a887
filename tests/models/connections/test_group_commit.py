"""Threads share commits. A single item is committed at once, and no item harms another."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest
from psycopg.errors import DataError

from tests.factories import claim_turn, make_tenant, open_turn, record_plan, running_turn, step
from tests.facts import wait_for
from tests.models.ledger.stopping import claim, close, end, statuses
from turnloom.models.connections.database import Statement, statement
from turnloom.models.connections.group_commit import GroupCommit
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import step_batches, steps
from turnloom.models.ledger.step_batches import AdvanceRequest, LookRequest
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder
from turnloom.workers.running import step_commits

pytestmark = pytest.mark.usefixtures("database")

HOLDER = Holder("worker/1", 6_000)


class Together:
    """A commit that notes its batches, and whose first call waits for a gate."""

    def __init__(self, fault: Callable[[], None] = lambda: None) -> None:
        self.gate, self.begun = threading.Event(), threading.Event()
        self.batches: list[list[int]] = []
        self._fault = fault

    def __call__(self, db: Statement, items: Sequence[int]) -> list[int | None]:
        self.batches.append(list(items))
        self.begun.set()
        if len(self.batches) == 1:
            self.gate.wait(20)
        else:
            self._fault()
        return [item * 10 if item else None for item in items]


def commit_all(together: Together, *items: int) -> list["Future[int | None]"]:
    """Let one thread commit the first item. The others come meanwhile, in order."""
    shared = GroupCommit("test", together)
    with ThreadPoolExecutor(len(items)) as pool:
        futures = []
        for number, item in enumerate(items):
            futures.append(pool.submit(shared.commit, item))
            wait_for(lambda number=number: together.begun.is_set() and len(shared._waiting) == number)  # type: ignore[misc]
        together.gate.set()
    return futures


def test_what_comes_during_a_commit_goes_together_in_the_next() -> None:
    """The items of a commit keep their order. Each has its own result, and None is a result."""
    together = Together()

    done = commit_all(together, 1, 2, 0, 3)

    assert together.batches == [[1], [2, 0, 3]]
    assert [each.result() for each in done] == [10, 20, None, 30]


def test_no_commit_has_more_than_its_share() -> None:
    """A commit takes at most 16 items. The rest goes into the next one."""
    together = Together()

    commit_all(together, *range(1, 20))

    assert [len(batch) for batch in together.batches] == [1, 16, 2]


def test_after_a_failure_each_item_is_committed_by_itself() -> None:
    """Nobody knows which item caused the failure."""

    def fail() -> None:
        raise DataError("one of them is too much")

    done = commit_all(Together(fail), 1, 2, 3)

    assert [each.result() for each in done] == [10, None, None]


def test_each_caller_gets_the_error_of_an_outage() -> None:
    """Each caller may retry by itself."""

    def fail() -> None:
        raise Unavailable("Postgres does not answer", code="database_unavailable")

    done = commit_all(Together(fail), 1, 2, 3)

    assert [type(each.exception()) for each in done] == [type(None), Unavailable, Unavailable]


def recording(turn_id: UUID, name: str = "a", result: object = None) -> AdvanceRequest:
    finished = [FinishedStep(name, 1, "succeeded", result)]
    return AdvanceRequest(turn_id, 1, Handover(finished), Capacity("tools.io", 0), HOLDER)


def claimed(turn_id: UUID) -> UUID:
    with statement() as db:
        steps.claim(db, turn_id, [["a"]], 1, HOLDER)
    return turn_id


def test_several_turns_are_looked_at_and_recorded_in_one_commit() -> None:
    """Each turn is treated as if it were alone."""
    turns = [running_turn(step("a"), step("b"), conversation_id=f"c{n}").id for n in range(3)]

    with statement() as db:
        looked = step_batches.look_all(db, [LookRequest(turn, [["a"]], 1) for turn in turns[:2]])
    for turn in turns:
        claimed(turn)
    with statement() as db:
        advanced = step_batches.advance_all(db, [recording(turn) for turn in turns])
        row = db.execute("SELECT count(DISTINCT xmin::text), count(*) FROM steps WHERE id = 'a'").fetchone()

    assert [claim and [lane.steps for lane in claim.lanes] for claim in looked] == [[["a"]], [["a"]]]
    assert [each and each.fenced for each in advanced] == [[], [], []]
    assert row == (1, 3)


def test_a_locked_turn_keeps_no_other_waiting() -> None:
    """The locked turn is recorded by itself afterwards."""
    busy, free = (claimed(running_turn(step("a"), step("b"), conversation_id=name).id) for name in "xy")

    with statement() as db, ThreadPoolExecutor(1) as pool, db.transaction():
        db.execute("SELECT 1 FROM turns WHERE id = %s FOR NO KEY UPDATE", (busy,))
        others = pool.submit(_advance_all, busy, free).result(10)

    assert [each is None for each in others] == [True, False]
    assert (statuses(busy)["a"], statuses(free)["a"]) == ("running", "succeeded")
    assert step_commits.advance(recording(busy)).fenced == []


def test_commits_in_opposite_order_do_not_wait_for_each_other() -> None:
    """Each leaves out the turn whose conversation memory the other has changed, and records it separately."""
    late_x, next_x = late_write_and_next_read("x")
    late_y, next_y = late_write_and_next_read("y")
    both = threading.Barrier(2, timeout=8)

    def commit(*items: AdvanceRequest) -> list[bool]:
        with statement() as db, db.transaction():
            made = []
            for item in items:
                made += step_batches.advance_all(db, [item])
                both.wait()
        return [each is not None for each in made]

    with ThreadPoolExecutor(2) as pool:
        x_first, y_first = pool.submit(commit, late_x, next_y), pool.submit(commit, late_y, next_x)

    assert (x_first.result(), y_first.result()) == ([True, False], [True, False])
    assert [step_commits.advance(item).fenced for item in (next_x, next_y)] == [[], []]
    assert [statuses(item.turn_id)["a"] for item in (next_x, next_y)] == ["succeeded", "succeeded"]


def late_write_and_next_read(conversation_id: str) -> tuple[AdvanceRequest, AdvanceRequest]:
    """Return two records: of a write that outlasts its turn, and of a remembered read of the next turn."""
    tenant_id = make_tenant()
    first = claim_turn(open_turn(tenant_id, conversation_id=conversation_id).turn_id)
    assert first is not None
    record_plan(first, step("w", tool="sim.write", args={"value": 7}))
    claim(first.id, "w")
    closed = close(first.id)
    assert closed is not None
    assert closed.respond is not None
    end(first.id, closed.respond)
    following = claim_turn(open_turn(tenant_id, conversation_id=conversation_id).turn_id)
    assert following is not None
    record_plan(following, step("a"), step("b"))
    claim(following.id, "a")
    late, read = recording(first.id, "w"), recording(following.id)
    remember = {"tool": "sim.wait", "args": {}, "for_s": 60.0}
    return late, read._replace(
        handover=Handover([replace(read.handover.finished[0], input_hash="h", remember=remember)])
    )


def _advance_all(*turns: UUID) -> list[steps.Advance | None]:
    with statement() as db:
        return step_batches.advance_all(db, [recording(turn) for turn in turns])


def test_a_result_that_postgres_refuses_fails_alone() -> None:
    """The record of the turn beside it is written."""
    good, bad = (claimed(running_turn(step("a"), step("b"), conversation_id=name).id) for name in "xy")

    with pytest.raises(DataError):
        step_commits.advance(recording(bad, result="\0"))
    assert step_commits.advance(recording(good)).fenced == []

    assert (statuses(good)["a"], statuses(bad)["a"]) == ("succeeded", "running")
