"""Each cause that holds a turn up is named when it occurs."""

from datetime import timedelta
from typing import get_args
from uuid import UUID

import pytest

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, running_turn, step
from tests.models.ledger.explaining import EMPTY, HOLDER, beat, claim, lose, succeed, told, why
from tests.models.ledger.parking import APPROVED, ask, change, delay, row
from tests.models.ledger.stopping import view
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.explanation import Cause
from turnloom.models.ledger import recovery, steps, turns
from turnloom.models.runtime.settings import ROOT

pytestmark = pytest.mark.usefixtures("database")


def test_a_finished_turn_waits_for_nothing() -> None:
    """The explanation says when and how it ended."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    finish_turn(turn)

    found = why(turn.id)

    assert (found.cause, found.status) == ("finished", "succeeded")
    assert "succeeded" in found.message


def test_an_earlier_turn_comes_first() -> None:
    """The explanation names the earlier turn of the conversation, whatever the state of the broker."""
    first, second = (open_turn(make_tenant(), on_busy="enqueue") for _ in range(2))
    claim_turn(first.turn_id)

    found = why(second.turn_id, None)

    assert (found.cause, found.turn) == ("earlier_turn", str(first.turn_id))
    assert "planning" in found.message


def test_a_queued_turn_waits_for_a_planner() -> None:
    """The cause names the queue, how many messages wait in it, and how many are worked on at once."""
    turn = open_turn(make_tenant())
    beat()

    found = why(turn.turn_id, {"plan": 40})

    assert told(found) == ("waiting_for_worker", None, "plan")
    assert "messages there: 40, slots of its workers: 16" in found.message


@pytest.mark.parametrize("queues", [(), ("tools.io", "maintenance")])
def test_no_planner(queues: tuple[str, ...]) -> None:
    """The cause is that no living worker takes from the planners' queue."""
    turn = open_turn(make_tenant())
    if queues:
        beat(*queues)

    assert told(why(turn.turn_id)) == ("no_worker", None, "plan")


def test_a_worker_that_beats_no_more_is_none() -> None:
    """Only workers with a fresh heartbeat count."""
    turn = open_turn(make_tenant())
    beat()
    change("UPDATE workers SET beat_at = beat_at - interval '7 s'")

    assert told(why(turn.turn_id)) == ("no_worker", None, "plan")


def test_the_broker_is_down() -> None:
    """A step that must be handed to a worker waits for the broker first."""
    turn = open_turn(make_tenant())
    beat()

    assert told(why(turn.turn_id, None)) == ("broker_down", None, "plan")


def test_the_broker_does_not_matter_to_what_is_held() -> None:
    """A process works on the turn, whatever the state of the broker."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None

    assert why(turn.id, None).cause == "planning"


def test_planning() -> None:
    """A planner holds the turn until its lease ends."""
    turn = claim_turn(open_turn(make_tenant()).turn_id, lease_ms=6_000)
    assert turn is not None

    found = why(turn.id)

    assert found.cause == "planning"
    assert found.until is not None
    assert found.since < found.until <= found.since + timedelta(seconds=6.1)


def test_a_lost_planner() -> None:
    """Its lease has run out. Recovery will come, if a worker runs it and the broker works."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    beat()
    lose()
    causes = [told(why(turn.id, messages)) for messages in (EMPTY, None)]
    beat("plan")

    assert causes == [("planner_lost", None, None), ("broker_down", None, "maintenance")]
    assert told(why(turn.id)) == ("no_worker", None, "maintenance")


def test_a_turn_that_is_to_be_planned_again_waits_for_a_planner() -> None:
    """Nobody holds the turn, and it is not lost."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    change("UPDATE turns SET status = 'responding'")
    with statement() as db:
        assert turns.plan_again(db, turn.id, turn.attempt, "observe")
    nobody = told(why(turn.id))
    beat()
    found = why(turn.id)

    assert nobody == ("no_worker", None, "plan")
    assert told(found) == ("waiting_for_worker", None, "plan")
    assert told(why(turn.id, None)) == ("broker_down", None, "plan")
    assert found.since == view(turn.id).sent_at


def test_a_ready_step_waits_for_a_worker() -> None:
    """A step that is ready and not claimed is named before one that runs. One that is not ready is never named."""
    turn = running_turn(step("a"), step("b"), step("c", "a", "b"))
    beat()
    claim(turn.id, "a")

    found = why(turn.id, {"tools.io": 3})

    assert told(found) == ("waiting_for_worker", "b", "tools.io")
    assert "sim.wait" in found.message


def test_a_step_whose_needs_have_just_ended_is_ready_since_then() -> None:
    """A step waits since the last of its needs ended."""
    turn = running_turn(step("a"), step("b", "a"), max_steps=1)
    beat()
    claim(turn.id, "a")
    succeed(turn.id, "a")

    found = why(turn.id)

    with transaction() as db:
        ended = {row.id: row.finished_at for row in steps.of_turn(db, turn.id)}["a"]
    assert told(found) == ("waiting_for_worker", "b", "tools.io")
    assert found.since == ended


def test_a_step_that_no_worker_takes_is_named_first() -> None:
    """If two steps are ready, the cause names the one whose queue has no worker."""
    turn = running_turn(step("a"), step("b", tool="sim.burn", args={"ms": 1}))
    beat()

    assert told(why(turn.id)) == ("no_worker", "b", "tools.cpu")


def test_a_running_step() -> None:
    """If all ready steps run, the one that has run longest is named, with its worker."""
    turn = running_turn(step("a"), step("b"), step("c", "a", "b"))
    beat()
    for name in "ba":
        claim(turn.id, name)

    found = why(turn.id, None)

    assert told(found) == ("step_running", "b", None)
    assert found.until is not None
    assert HOLDER.worker in found.message


def test_a_step_waits_for_a_person() -> None:
    """It is named before running steps, with the time at which it lapses. If it is alone, the turn waits."""
    turn = running_turn(APPROVED, step("b"))
    beat()
    claim(turn.id, "w")
    ask(turn.id)
    claim(turn.id, "b")
    beside = why(turn.id)
    succeed(turn.id, "b")

    found = why(turn.id)

    assert (told(beside), told(found)) == (("approval", "w", None), ("approval", "w", None))
    assert (beside.status, found.status) == ("running", "waiting_approval")
    assert found.until == row(turn.id).lapses_at


def test_a_step_waits_for_its_time() -> None:
    """It is named if nothing else can run. Once its time has come it waits for a worker."""
    turn = running_turn(step("a"), step("b"))
    beat()
    for name in "ab":
        claim(turn.id, name)
    delay(turn.id, "a")
    beside = why(turn.id)
    succeed(turn.id, "b")

    found = why(turn.id)
    change("UPDATE steps SET not_before = clock_timestamp() WHERE id = 'a'")

    assert (told(beside), told(found)) == (("step_running", "b", None), ("rate_limit", "a", None))
    assert found.until is not None
    assert found.until > found.since
    assert told(why(turn.id)) == ("waiting_for_worker", "a", "tools.io")


def test_a_lost_step() -> None:
    """A step whose worker is lost is named before all others."""
    turn = running_turn(step("a"), step("b"))
    beat()
    claim(turn.id, "b")
    lose("steps")

    found = why(turn.id)

    assert told(found) == ("step_lost", "b", None)
    assert HOLDER.worker in found.message


def responding_turn() -> UUID:
    turn = running_turn(step("a"))
    beat()
    claim(turn.id, "a")
    assert succeed(turn.id, "a").respond is not None
    return turn.id


def test_responding() -> None:
    """A responder holds the turn under a lease."""
    found = why(responding_turn(), None)

    assert found.cause == "responding"
    assert found.until is not None


def test_a_lost_responder() -> None:
    """Its lease has run out. Recovery gives the reply to another."""
    turn_id = responding_turn()
    lose()

    assert why(turn_id).cause == "responder_lost"


def test_a_reply_that_nobody_makes() -> None:
    """Recovery has called another responder. Until one claims the turn, the cause names its queue."""
    turn_id = responding_turn()
    for _ in range(2):
        lose()
        with statement() as db:
            recovery.take_over(db, turn_id, 6_000)

    assert told(why(turn_id, {"respond": 2})) == ("waiting_for_worker", None, "respond")


def test_the_page_on_explanations_has_each_cause() -> None:
    """The list of causes is closed, and the page says what to do about each."""
    page = (ROOT / "docs" / "how-to" / "find-out-why-a-turn-waits.md").read_text("utf-8")

    assert [cause for cause in get_args(Cause) if f"`{cause}`" not in page] == []
