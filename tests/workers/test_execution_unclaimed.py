"""The executor runs short reads without a claim, and claims longer ones while they run."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from celery.exceptions import Ignore

from tests.factories import queue_length, running_turn, step
from tests.facts import wait_for
from tests.journeys.following import wait_step
from tests.models.ledger.early import told
from tests.models.ledger.parking import row
from tests.models.ledger.stopping import statuses
from turnloom.models.connections.database import statement
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import Holder
from turnloom.workers.execution import Executor
from turnloom.workers.running.step_call import only_reads

pytestmark = pytest.mark.usefixtures("database", "tools")

HOLDER = Holder("worker/1", 6_000)


def looked_at(turn_id: UUID, *lanes: list[str], slots: int = 1) -> Callable[[], None]:
    """Look at lanes as a worker would that has a message with them. Return a function that continues."""
    with statement() as db:
        looked = steps.look(db, turn_id, lanes, 1)
    assert looked is not None
    assert looked.turn is not None
    executor = Executor(turn_id, looked.turn, 1, "tools.io", HOLDER)
    return lambda: executor.run(looked.lanes, slots, looked.at)


def claim(turn_id: UUID, name: str) -> None:
    with statement() as db:
        assert steps.claim(db, turn_id, [[name]], 1, Holder("worker/2", 6_000)).verdict == "claimed"


def commits(turn_id: UUID) -> int:
    """Count the commits that announced events."""
    with statement() as db:
        found = db.execute("SELECT count(*) FROM turn_events WHERE turn_id = %s", (turn_id,)).fetchone()
    assert found is not None
    return int(found[0])


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no read count as long, however busy the machine is."""
    monkeypatch.setattr("turnloom.workers.running.running_call.UNCLAIMED_S", 60.0)


@pytest.mark.usefixtures("patient")
def test_a_short_read_costs_one_commit() -> None:
    """The commit is that of the record, which has the step's start and end."""
    turn = running_turn(step("a"), step("c", "a", "d"), wait_step("d", ms=60_000))
    before = commits(turn.id)

    looked_at(turn.id, ["a"])()

    assert (statuses(turn.id)["a"], commits(turn.id)) == ("succeeded", before + 1)
    assert told(turn.id)[-2:] == ["step.started a", "step.finished a"]


@pytest.mark.usefixtures("patient")
def test_reads_of_one_message_follow_each_other() -> None:
    """The second read begins when the first has succeeded, with its result."""
    follows = step("b", tool="sim.echo", args={"value": {"$from": "a.ms"}})
    turn = running_turn(wait_step("a", ms=3), follows, step("c", "b", "d"), wait_step("d", ms=60_000))

    looked_at(turn.id, ["a", "b"])()

    assert (row(turn.id, "b").status, row(turn.id, "b").result) == ("succeeded", {"value": 3})


@pytest.mark.usefixtures("patient")
def test_a_read_that_becomes_ready_needs_no_message() -> None:
    """While one read waits for another in the same worker, a third one runs in a free slot of that worker."""
    turn = running_turn(wait_step("a", ms=300), step("b", "a"), step("c"), step("d", "c"), max_steps=1)

    looked_at(turn.id, ["a"], ["b"], ["c"], slots=4)()

    assert (set(statuses(turn.id).values()), queue_length("tools.io")) == ({"succeeded"}, 0)


def test_a_long_read_is_claimed() -> None:
    """A long read is claimed while it runs, and recorded under its claim."""
    turn = running_turn(wait_step("a", ms=700), step("b", "a"))
    run = threading.Thread(target=looked_at(turn.id, ["a"]))
    run.start()

    wait_for(lambda: statuses(turn.id)["a"] == "running")
    lease = row(turn.id, "a").lease_until
    run.join()

    assert lease is not None
    assert (statuses(turn.id)["a"], row(turn.id, "a").attempt) == ("succeeded", 1)


@pytest.mark.parametrize("ms", [1, 700])
def test_a_copy_that_comes_late_does_not_count_as_done(ms: int) -> None:
    """Another worker has claimed the step and still runs it, so the next steps must not begin."""
    turn = running_turn(wait_step("a", ms=ms), step("b", "a"))
    run = looked_at(turn.id, ["a"])
    claim(turn.id, "a")

    with pytest.raises(Ignore):
        run()

    assert (statuses(turn.id), row(turn.id, "a").worker) == ({"a": "running", "b": "pending"}, "worker/2")


@pytest.mark.usefixtures("patient")
def test_the_second_of_two_copies_counts_as_done() -> None:
    """One copy records the step, and the step is then final for both."""
    turn = running_turn(step("a"), step("b", "a"), step("c", "b", "d"), wait_step("d", ms=60_000))
    first, second = looked_at(turn.id, ["a"]), looked_at(turn.id, ["a"])

    first()
    second()

    assert (statuses(turn.id)["a"], told(turn.id).count("step.finished a")) == ("succeeded", 1)


@pytest.mark.usefixtures("patient")
def test_a_read_that_must_wait_is_claimed_and_parked() -> None:
    """The message does not count as done."""
    flaky = step("late", tool="sim.flaky", args={"fail_times": 1, "retry_after_s": 30}, timeout_ms=5_000)
    turn = running_turn(flaky, step("b", "late"))

    with pytest.raises(Ignore):
        looked_at(turn.id, ["late"])()

    parked = row(turn.id, "late")
    assert (parked.status, parked.attempt, parked.parked, parked.lease_until) == ("pending", 1, 1, None)
    assert parked.not_before is not None


@pytest.mark.usefixtures("patient")
def test_a_step_that_needs_a_failed_one_is_left_to_the_ledger() -> None:
    """The step was only looked at. The ledger skips it as usual."""
    failing = step("f", tool="sim.fail", args={"code": "NOT_FOUND"})
    turn = running_turn(failing, step("b", "f"), wait_step("d", ms=60_000))

    looked_at(turn.id, ["f", "b"])()

    assert (statuses(turn.id)["f"], statuses(turn.id)["b"]) == ("failed", "skipped")


@pytest.mark.parametrize(
    ("fields", "only"),
    [
        ({}, True),
        ({"tool": "sim.write", "args": {"value": 1}}, False),
        ({"tool": "sim.approve", "args": {"value": 1}}, False),
        ({"tool": "sim.gone"}, False),
    ],
)
def test_only_reads_run_without_a_claim(fields: dict[str, Any], only: bool) -> None:
    """A call that a person must approve and an unknown tool are claimed first."""
    turn = running_turn(step("a"))
    with statement() as db:
        looked = steps.look(db, turn.id, [["a"]], 1)
    assert looked is not None
    assert looked.lanes[0].step is not None

    assert only_reads(replace(looked.lanes[0].step, **fields)) is only
