"""Every plan and every tool call is in the audit chain of its conversation, from the commit in which it happens."""

import hashlib
from typing import Any

import orjson
import pytest

from tests.factories import make_tenant, open_turn, running_turn, step
from tests.models.ledger.early import drop_early, planning_turn, start_early
from tests.models.ledger.parking import delay
from tests.models.ledger.stopping import WRITE, claim, close, end, lose, record
from tests.models.ledger.taking_over import pause
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import audit, conversations, recovery
from turnloom.models.runtime.operators import Operator, acting
from turnloom.models.tables.audit import AuditRow

pytestmark = pytest.mark.usefixtures("database")

PERSON = {"user": {"id": "u1"}}


def records(kind: str | None = None, conversation: str = "c1") -> list[AuditRow]:
    """Return the records of a conversation, whose chain verifies."""
    tenant = make_tenant()
    with transaction() as db:
        assert audit.verify(db, tenant, conversation) == []
        return [row for row in audit.page(db, tenant, conversation, 0, 100) if kind in (None, row.kind)]


def kinds() -> list[str]:
    return [row.kind for row in records()]


def calls() -> list[dict[str, Any]]:
    """Return the calls that have ended, in the order of the records."""
    contents = [row.content for row in records("calls.ended")]
    return [call for content in contents if content for call in content["calls"]]


def sha256(value: object) -> str:
    """Return the digest of a value as Postgres writes jsonb. Objects have one field here."""
    return hashlib.sha256(orjson.dumps(value).replace(b":", b": ").replace(b",", b", ")).hexdigest()


def test_a_plan_and_a_call_are_recorded() -> None:
    """Who called what for whom, with which arguments, when, and with which result."""
    turn = running_turn(step("a", args={"ms": 5}), **PERSON)
    claim(turn.id, "a")
    record(turn.id, "a")

    plan, ended = records("plan.recorded"), records("calls.ended")
    assert kinds() == ["turn.received", "plan.recorded", "calls.ended"]
    assert plan[0].content is not None
    assert (plan[0].content["revision"], plan[0].content["source"], plan[0].turn_id) == (1, "caller", turn.id)
    assert ended[0].content is not None
    assert ended[0].content["user"] == "u1"
    (call,) = ended[0].content["calls"]
    assert call["started_at"] <= call["ended_at"]
    assert {name: value for name, value in call.items() if not name.endswith("_at")} == {
        "step": "a",
        "tool": "sim.wait",
        "effect": "read",
        "status": "succeeded",
        "attempt": 1,
        "worker": "worker/1",
        "args_sha256": sha256({"ms": 5}),
        "result_sha256": sha256({}),
    }


def test_calls_that_end_together_are_one_record() -> None:
    """A commit costs one record, however many steps it ends. A step that was never begun made no call."""
    turn = running_turn(step("a"), step("b", "a"), step("c"))
    claim(turn.id, "a")
    claim(turn.id, "c")
    record(turn.id, "a", "failed")
    record(turn.id, "c")

    assert [(call["step"], call["status"], call.get("error")) for call in calls()] == [
        ("a", "failed", "NOT_FOUND"),
        ("c", "succeeded", None),
    ]


def test_a_call_with_an_effect_is_recorded_before_it_is_made() -> None:
    """Whatever becomes of its worker, the log has who was about to do what."""
    turn = running_turn(WRITE, **PERSON)
    claim(turn.id, "w")

    (claimed,) = records("calls.claimed")
    called = {"step": "w", "tool": "sim.write", "effect": "write", "attempt": 1, "worker": "worker/1"}
    assert claimed.content == {"user": "u1", "calls": [{**called, "args_sha256": sha256({"value": 7})}]}


def test_a_write_that_ends_after_its_turn_is_recorded() -> None:
    """The turn was cancelled and answered meanwhile."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    closed = close(turn.id)
    assert closed is not None
    assert closed.respond is not None
    end(turn.id, closed.respond)
    record(turn.id, "w")

    assert kinds()[2:] == ["calls.claimed", "turn.cancelled", "turn.finished", "calls.ended"]
    assert [(call["step"], call["status"]) for call in calls()] == [("w", "succeeded")]


def test_a_write_that_ends_after_its_conversation_was_erased_is_recorded() -> None:
    """The record has no content of the conversation's, and the chain still verifies."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    closed = close(turn.id)
    assert closed is not None
    assert closed.respond is not None
    end(turn.id, closed.respond)
    tenant = make_tenant()
    with transaction() as db:
        conversations.erase(db, tenant, "c1")
    record(turn.id, "w")

    assert kinds()[-2:] == ["conversation.erased", "calls.ended"]
    assert [row.content is None for row in records()] == [True] * 5 + [False] * 2


def test_a_write_whose_worker_was_lost_is_recorded_as_unknown() -> None:
    """Nobody knows what has become of it, and the log says so."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    close(turn.id)
    lose(turn.id)
    with statement() as db:
        assert recovery.give_up(db, turn.id)

    assert [(call["step"], call["status"], call["error"]) for call in calls()] == [("w", "unknown", "INTERNAL_ERROR")]


def test_a_result_under_an_old_fence_is_not_recorded() -> None:
    """It changes nothing: the record is that of the attempt that counts."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")
    record(turn.id, "a")
    record(turn.id, "a", "failed")

    assert [call["status"] for call in calls()] == ["succeeded"]


def test_a_read_that_is_stopped_is_recorded() -> None:
    """It was called, and its result was not awaited. What had not begun is not a call."""
    turn = running_turn(step("a"), step("b"))
    claim(turn.id, "a")
    close(turn.id)

    assert [(call["step"], call["status"]) for call in calls()] == [("a", "cancelled")]


def test_a_call_that_is_tried_again_later_is_recorded() -> None:
    """Each try that was put off has a record, and so has the end."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")
    assert delay(turn.id, "a") is not None

    (delayed,) = records("call.delayed")
    assert delayed.content is not None
    assert (delayed.content["step"], delayed.content["error"], delayed.content["attempt"]) == ("a", "RATE_LIMITED", 1)


def test_an_early_read_that_is_dropped_is_recorded() -> None:
    """Its plan was refused: a later step of the same id takes its row, and the log keeps that it was called."""
    turn = planning_turn()
    assert start_early(turn, step("a")) is not None
    claim(turn.id, "a")
    assert drop_early(turn) is not None

    assert [(call["step"], call["status"]) for call in calls()] == [("a", "cancelled")]


@pytest.mark.parametrize("on_busy", ["interrupt", "rollback"])
def test_a_message_that_stops_a_call_leaves_one_chain(on_busy: str) -> None:
    """The record of the stopped call comes before that of the message, in one commit."""
    turn = running_turn(step("a"), step("b", "a"))
    claim(turn.id, "a")
    open_turn(make_tenant(), "rather not", body=b"other", on_busy=on_busy)

    assert kinds()[-2:] == ["calls.ended", "turn.received"]


def test_a_takeover_that_stops_a_call_leaves_one_chain() -> None:
    """So does a person who takes the conversation over."""
    turn = running_turn(step("a"), step("b", "a"))
    claim(turn.id, "a")
    pause()

    assert kinds()[-2:] == ["calls.ended", "conversation.paused"]


def test_who_cancels_a_turn_is_recorded() -> None:
    """A second time changes nothing, and nobody cancels a turn that is late."""
    turn, other = running_turn(step("a")), running_turn(step("a"), conversation_id="c2")
    with acting(Operator(name="Dana")):
        close(turn.id)
        close(turn.id)
        close(other.id, "late")

    assert [row.content for row in records("turn.cancelled")] == [{"by": "Dana"}]
    assert records("turn.cancelled", "c2") == []
