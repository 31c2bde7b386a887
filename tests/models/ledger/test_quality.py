"""How turns went is read from the ledger, and kept by day."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import claim_turn, make_tenant, open_turn
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.feedback import FeedbackRequest
from turnloom.models.contracts.quality import QualityBy, QualityLine
from turnloom.models.contracts.rollout import RunningRollout, bucket
from turnloom.models.contracts.turn import Question, Reply
from turnloom.models.contracts.usage import LlmCall
from turnloom.models.ledger import feedback, quality, turns
from turnloom.models.ledger.quality import TurnSpan, day_span
from turnloom.models.ledger.turns import Ending
from turnloom.models.runtime.ids import new_id

CALL = LlmCall("plan", "gpt-4o", 100, 40, 10, 0.5, 12.5, "stop")
TRACE = {"agent": "agents/generic@1", "prompts": ["system/planning@2"], "refused": []}


def answered(tenant_id: UUID, conversation_id: str, *, calls: int = 1, **ending: Any) -> UUID:
    """Open a turn and end it with a reply, by default a grounded one."""
    fields = {"status": "succeeded", "reply": Reply(text="done", grounded=True), "trace": TRACE} | ending
    turn = claim_turn(open_turn(tenant_id, conversation_id=conversation_id).turn_id)
    assert turn is not None
    with statement() as db:
        assert turns.finish(db, turn.id, turn.attempt, Ending(**fields), [CALL] * calls)
    return turn.id


def lines(tenant_id: UUID, by: QualityBy = "agent", **wanted: Any) -> list[QualityLine]:
    now = datetime.now(UTC)
    span = TurnSpan(now - timedelta(hours=1), now + timedelta(hours=1))
    with transaction(tenant_id) as db:
        return quality.lines(db, tenant_id, span, by, **wanted)


@pytest.fixture
def acme(database: str) -> UUID:
    """A tenant with four turns: one went well, one asks, one was not grounded at first, one failed without a plan."""
    acme, other = make_tenant(), make_tenant("other")
    well = answered(acme, "well")
    answered(acme, "asks", reply=Reply(text="When?", question=Question(fields=["day"], choices={})))
    answered(acme, "ungrounded", trace=TRACE | {"refused": [{"text": "9 USD"}], "prompts": ["system/planning@3"]})
    invalid = {"code": "invalid_plan", "message": "no plan"}
    answered(acme, "failed", status="failed", error=invalid, calls=0, trace={})
    answered(other, "theirs", status="failed")
    with statement() as db:
        feedback.give(db, acme, well, FeedbackRequest(rating="up"))
        feedback.give(db, acme, well, FeedbackRequest(rating="down", user="bo"))
    return acme


def test_turns_of_a_span_are_counted(acme: UUID) -> None:
    """Rates are shares of what can have the property. What belongs to another tenant does not count."""
    (line,) = lines(acme)

    assert (line.agent, line.turns, line.failed, line.error_rate) == ("generic", 4, 1, 0.25)
    assert (line.plans, line.plan_validity) == (1, 0.0)
    assert (line.tool_calls, line.tool_success) == (0, None)
    assert (line.checked, line.grounded_rate) == (3, pytest.approx(2 / 3))
    assert (line.questions, line.clarifying_rate) == (1, 0.25)
    assert (line.cost, line.cost_per_turn, line.unpriced_turns) == (1.5, 0.375, 0)
    assert (line.up, line.down) == (1, 1)
    assert line.first_word_p50_ms is not None
    assert 0 < line.first_word_p50_ms < 60_000


def test_a_turn_counts_for_each_of_its_texts(acme: UUID) -> None:
    """Each version has its own line, so that two versions of a text can be compared."""
    by_version = {line.version: line for line in lines(acme, "version")}

    assert {version: line.turns for version, line in by_version.items()} == {
        "agents/generic@1": 3,
        "system/planning@2": 2,
        "system/planning@3": 1,
    }
    assert by_version["system/planning@2"].grounded_rate == 1
    assert by_version["system/planning@3"].grounded_rate == 0


def test_spans_days_and_agents_bound_what_counts(acme: UUID) -> None:
    """Turns received before or after the span, and those of other agents, are left out."""
    now = datetime.now(UTC)
    with transaction(acme) as db:
        before = quality.lines(db, acme, TurnSpan(now - timedelta(days=2), now - timedelta(days=1)))

    assert before == []
    assert lines(acme, agent="hotel") == []
    assert [line.turns for line in lines(acme, agent="generic")] == [4]
    assert sum(line.turns for line in lines(acme, "day")) == 4


def test_first_word_is_when_text_was_streamed(database: str) -> None:
    """A reply that was streamed for a time before it was recorded could be read that much earlier."""
    acme = make_tenant()
    turn_id = answered(acme, "streamed", trace=TRACE | {"streaming_ms": 2.5})

    (line,) = lines(acme)

    with transaction(acme) as db:
        turn = turns.get(db, turn_id)
    assert turn is not None
    assert turn.finished_at is not None
    whole_ms = (turn.finished_at - turn.created_at).total_seconds() * 1000
    assert line.first_word_p50_ms == line.first_word_p95_ms == pytest.approx(whole_ms - 2.5)


def test_sides_of_a_rollout_are_told_by_the_conversation(acme: UUID) -> None:
    """SQL and Python give a conversation the same bucket, at every share."""
    conversations = ("well", "asks", "ungrounded", "failed")
    span = TurnSpan(datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC) + timedelta(hours=1))
    for number in range(8):
        rollout = RunningRollout(new_id(), "styles/brief", "", (number + 0.5) / 8)
        taken = sum(map(rollout.takes, conversations))
        with transaction(acme) as db:
            new, old = quality.sides(db, acme, rollout, span)
        assert (new.turns if new else 0, old.turns if old else 0) == (taken, 4 - taken)
    assert len({bucket(rollout.id, each) for each in conversations}) == 4


def test_a_rollout_of_an_agent_counts_its_turns_only(acme: UUID) -> None:
    """Turns of other agents cannot have had its text."""
    span = TurnSpan(datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC) + timedelta(hours=1))
    with transaction(acme) as db:
        assert quality.sides(db, acme, RunningRollout(new_id(), "agents/hotel", "", 0.5), span) == (None, None)


def test_days_are_kept_and_computed_anew(acme: UUID) -> None:
    """A day that is kept again replaces what was kept; the trend shows all turns, or those of one version."""
    today = datetime.now(UTC).date()

    def kept(**wanted: str) -> list[int]:
        with transaction(acme) as db:
            quality.keep_day(db, acme, today)
        with transaction(acme) as db:
            return [line.turns for line in quality.trend(db, acme, today, **wanted)]

    first = kept()
    answered(acme, "later")

    assert (first, kept()) == ([4], [5])
    assert kept(version="system/planning@2") == [3]
    assert kept(agent="hotel") == []
    with transaction() as db:
        assert quality.tenants_of(db, today) == sorted([acme, *_others(db, acme)])
        assert quality.last_day(db) == today


def _others(db: Any, acme: UUID) -> list[UUID]:
    bounds = day_span(datetime.now(UTC).date()).bounds()
    query = "SELECT DISTINCT tenant_id FROM turns WHERE id >= %(first)s AND id < %(last)s AND tenant_id <> %(acme)s"
    return [row[0] for row in db.connection().exec_driver_sql(query, {**bounds, "acme": acme})]
