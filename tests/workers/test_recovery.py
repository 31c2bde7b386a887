"""Recovery finds work that no living process holds and lets it continue. The old generation does not interfere."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, queue_length, running_turn, step
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import recovery, steps, turns
from turnloom.models.ledger.recovery import MAX_ATTEMPTS
from turnloom.models.ledger.steps import Holder
from turnloom.models.runtime.settings import settings
from turnloom.workers.execution import Executor
from turnloom.workers.recovery import recompile, sweep
from turnloom.workers.running.step_call import StepCalls
from turnloom.workers.upkeep.heartbeat import Leases

pytestmark = pytest.mark.usefixtures("database", "tools")

HOLDER = Holder("worker/1", 6_000)
WRITE = step("w", tool="sim.write", args={"value": 7})


def claim(turn_id: UUID, *lane: str, generation: int = 1) -> steps.StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, [lane], generation, HOLDER)


def run(turn_id: UUID, *lane: str, generation: int = 1) -> None:
    """Claim a lane and run it here, as a worker would."""
    claimed = claim(turn_id, *lane, generation=generation)
    assert claimed.turn is not None
    Executor(turn_id, claimed.turn, generation, "tools.cpu", HOLDER).run(claimed.lanes, 1, claimed.at)


def lose(turn_id: UUID) -> None:
    """Let every lease of a turn run out, as if its worker had died."""
    with transaction() as db:
        for table in ("steps", "turns"):
            key = "turn_id" if table == "steps" else "id"
            db.execute(
                text(f"UPDATE {table} SET lease_until = clock_timestamp() - interval '1 s' WHERE {key} = :turn"),
                {"turn": turn_id},
            )


def lost(grace_s: float = 60, busy: tuple[str, ...] = ()) -> list[tuple[UUID, str]]:
    with transaction() as db:
        return [(turn.id, turn.kind) for turn in recovery.find_lost(db, timedelta(seconds=grace_s), busy, 100)]


def view(turn_id: UUID) -> dict[str, Any]:
    with transaction() as db:
        return {row.id: (row.status, row.attempt) for row in steps.of_turn(db, turn_id)}


def test_held_work_is_not_lost() -> None:
    """Recovery finds neither a running step under its lease nor a turn that is being planned."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")
    claim_turn(open_turn(make_tenant(), conversation_id="c2").turn_id)

    assert lost() == []


def test_a_dead_workers_step_runs_again_in_a_new_generation() -> None:
    """When the lease runs out, only a message of the new generation can start the step."""
    turn = running_turn(step("a"), step("b", "a"))
    claim(turn.id, "a", "b")
    lose(turn.id)

    found = lost()
    recompile(turn.id)

    assert found == [(turn.id, "steps")]
    assert view(turn.id)["a"] == ("pending", 1)
    assert claim(turn.id, "a", "b", generation=1).verdict == "stale"
    assert queue_length("tools.io") == 1
    run(turn.id, "a", "b", generation=2)
    assert view(turn.id) == {"a": ("succeeded", 2), "b": ("succeeded", 2)}


def test_a_running_step_is_pinned_while_the_rest_is_compiled_again() -> None:
    """The running step counts as a need and is in no new fragment. Its end counts in the new generation."""
    turn = running_turn(step("a"), step("b"), step("c", "a", "b"))
    held = claim(turn.id, "a")
    claim(turn.id, "b")
    with transaction() as db:
        db.execute(text("UPDATE steps SET lease_until = '-infinity' WHERE id = 'b'"))

    recompile(turn.id)
    run(turn.id, "b", generation=2)
    assert held.turn is not None
    Executor(turn.id, held.turn, 1, "tools.cpu", HOLDER).run(held.lanes, 1, held.at)

    assert view(turn.id)["a"] == ("succeeded", 1)
    run(turn.id, "c", generation=2)
    assert view(turn.id)["c"] == ("succeeded", 1)


def test_a_ready_step_without_a_message_is_found_after_the_grace() -> None:
    """If the broker loses a canvas, a step is ready and stays so. The grace doubles each time."""
    turn = running_turn(step("a"))
    with transaction() as db:
        db.execute(text("UPDATE turns SET compiled_at = compiled_at - interval '3 s'"))

    assert lost(grace_s=4) == []
    assert lost(grace_s=2, busy=("tools.io",)) == []
    assert lost(grace_s=2) == [(turn.id, "steps")]
    recompile(turn.id)
    with transaction() as db:
        db.execute(text("UPDATE turns SET compiled_at = compiled_at - interval '3 s'"))
    assert lost(grace_s=2) == []


def test_a_step_that_kills_its_workers_fails() -> None:
    """When its attempts are used up, the step fails with INTERNAL_ERROR, and the turn gets its reply."""
    turn = running_turn(step("a"), step("b", "a"))
    for generation in range(1, MAX_ATTEMPTS + 1):
        claim(turn.id, "a", generation=generation)
        lose(turn.id)
        recompile(turn.id)

    with transaction() as db:
        poison = steps.of_turn(db, turn.id)[0]
        row = turns.get(db, turn.id)
    assert (poison.status, poison.attempt, (poison.error or {})["code"]) == ("failed", MAX_ATTEMPTS, "INTERNAL_ERROR")
    assert view(turn.id)["b"][0] == "skipped"
    assert row is not None
    assert row.status == "responding"
    assert queue_length("respond") == 1


def test_a_lost_write_that_took_effect_is_not_made_again() -> None:
    """The backend finds the write by its idempotency key, and its answer is the step's result."""
    turn = running_turn(WRITE)
    claimed = claim(turn.id, "w")
    assert claimed.turn is not None
    assert claimed.lanes[0].step is not None
    StepCalls(turn.id, claimed.turn).outcome(claimed.lanes[0].step, float("inf"))
    lose(turn.id)
    recompile(turn.id)

    run(turn.id, "w", generation=2)

    with transaction() as db:
        (row,) = steps.of_turn(db, turn.id)
        written = db.scalar(text("SELECT count(*) FROM sim_writes"))
    assert (row.status, row.attempt, row.result["value"], written) == ("succeeded", 2, 7, 1)


def test_a_lost_write_without_effect_is_made() -> None:
    """If the backend does not know the key, the write is made once."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    lose(turn.id)
    recompile(turn.id)

    run(turn.id, "w", generation=2)

    with transaction() as db:
        assert db.scalar(text("SELECT count(*) FROM sim_writes")) == 1
    assert view(turn.id)["w"] == ("succeeded", 2)


def test_the_fallback_of_a_lost_write_is_called() -> None:
    """Only a write asks its backend first. A fallback that reads is called as usual."""
    slow = step("w", tool="sim.write", args={"value": 7, "ms": 5_000}, timeout_ms=400)
    turn = running_turn({**slow, "fallbacks": [{"tool": "sim.echo", "args": {"value": 8}}]})
    claim(turn.id, "w")
    lose(turn.id)
    recompile(turn.id)

    run(turn.id, "w", generation=2)

    with transaction() as db:
        (row,) = steps.of_turn(db, turn.id)
    assert (row.status, row.result) == ("succeeded", {"value": 8})


def test_the_turn_of_a_lost_planner_is_queued_again() -> None:
    """When the planner's lease runs out, the turn is queued again. The late planner has lost its fence."""
    opened = open_turn(make_tenant())
    first = claim_turn(opened.turn_id)
    assert first is not None
    lose(first.id)
    found = lost()

    with statement() as db:
        given_back = recovery.requeue(db, first.id)
    second = claim_turn(first.id)

    assert (found, given_back) == ([(first.id, "plan")], True)
    assert second is not None
    assert finish_turn(first) is None
    assert finish_turn(second) is not None


def test_a_lost_responder_is_replaced() -> None:
    """Another responder takes the reply over under a higher fence."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    with transaction() as db:
        db.execute(text("UPDATE turns SET status = 'responding'"))
    lose(turn.id)
    found = lost()

    with statement() as db:
        taken = recovery.take_over(db, turn.id, 6_000)
        again = recovery.take_over(db, turn.id, 6_000)

    assert (found, taken, again) == ([(turn.id, "respond")], turn.attempt + 1, None)


def test_heartbeats_keep_leases() -> None:
    """A renewed lease does not run out. A stale holder renews nothing."""
    turn = running_turn(step("a"), step("b"))
    for name in "ab":
        claim(turn.id, name)
    lose(turn.id)
    leases = Leases()
    leases.hold_step(turn.id, "a", 1)
    leases.hold_step(turn.id, "b", 9)

    leases.renew()

    recompile(turn.id)
    assert view(turn.id) == {"a": ("running", 1), "b": ("pending", 1)}


def test_a_heartbeat_waits_for_no_lock() -> None:
    """A heartbeat skips a turn that another transaction has locked, as waiting for it could deadlock."""
    busy = claim_turn(open_turn(make_tenant(), conversation_id="c2").turn_id)
    other = running_turn(step("a"))
    assert busy is not None
    claim(other.id, "a")
    lose(other.id)
    leases = Leases()
    leases.hold_step(other.id, "a", 1)

    with leases.holding_turn(busy.id, busy.attempt), psycopg.connect(settings().database_url) as another:
        another.execute("SELECT 1 FROM turns WHERE id = %s FOR NO KEY UPDATE", (busy.id,))
        leases.renew()

    recompile(other.id)
    assert view(other.id) == {"a": ("running", 1)}


def test_only_one_process_recovers_at_a_time() -> None:
    """The leader may renew its lease. Another process leads only when that lease has run out."""
    with statement() as db:
        led = [recovery.lead(db, holder) for holder in ("a", "b", "a")]
        db.execute("UPDATE leaders SET lease_until = clock_timestamp() - interval '1 ms'")
        led += [recovery.lead(db, holder) for holder in ("b", "a")]

    assert led == [True, False, True, True, False]


def test_the_sweep_sends_an_undispatched_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep puts a turn on its queue that was recorded but not dispatched."""
    monkeypatch.setenv("TURNLOOM_SWEEP_GRACE_S", "0")
    settings.cache_clear()
    open_turn(make_tenant(), conversation_id="c2")

    sweep()

    assert queue_length("plan") == 1


def test_an_error_in_one_turn_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other turns continue in the same sweep."""
    turns_lost = [running_turn(step("a"), conversation_id=name).id for name in ("c1", "c2", "c3")]
    for turn_id in turns_lost:
        claim(turn_id, "a")
        lose(turn_id)
    broken = lost()[0][0]

    def recompile_others(turn_id: UUID) -> None:
        if turn_id == broken:
            raise RuntimeError("this one cannot be compiled")
        recompile(turn_id)

    monkeypatch.setattr("turnloom.workers.recovery.recompile", recompile_others)
    monkeypatch.setattr("turnloom.workers.recovery.recovery.could_renew", lambda *_: True)
    sweep()

    assert {turn_id for turn_id in turns_lost if view(turn_id)["a"] == ("running", 1)} == {broken}
