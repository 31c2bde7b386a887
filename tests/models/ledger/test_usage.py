"""The cost of language models is recorded once with its work, summed up, and checked against a budget."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.factories import claim_turn, make_tenant, open_turn, record_plan, step
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.turn import Reply, Usage
from turnloom.models.contracts.usage import Allowance, Budget, LlmCall
from turnloom.models.ledger import conversations, replies, tenants, turns, usage
from turnloom.models.ledger.turns import ClaimedTurn, Ending
from turnloom.models.runtime.ids import first_id, new_id
from turnloom.models.schema import functions

pytestmark = pytest.mark.usefixtures("database")

CALL = LlmCall("plan", "gpt-4o", 100, 40, 10, 0.5, 12.5, "stop")
UNPRICED = replace(CALL, model="mystery", cost=None)
_MIDNIGHT_MARGIN = timedelta(seconds=8)
"""Time that one test here takes at most."""


@pytest.fixture(autouse=True)
def today() -> date:
    """Return the day (UTC) that counts the calls of the test. A test that would span midnight begins after it."""
    now = datetime.now(UTC)
    if (now + _MIDNIGHT_MARGIN).date() != now.date():
        time.sleep(_MIDNIGHT_MARGIN.total_seconds())
    return datetime.now(UTC).date()


def claimed(**request: Any) -> ClaimedTurn:
    turn = claim_turn(open_turn(make_tenant(), **request).turn_id)
    assert turn is not None
    return turn


def finish(turn: ClaimedTurn, *calls: LlmCall, attempt: int | None = None) -> bool:
    with statement() as db:
        ending = Ending("succeeded", Reply(text="done"), {})
        return turns.finish(db, turn.id, attempt or turn.attempt, ending, calls) is not None


def used(turn: ClaimedTurn) -> Usage:
    with transaction() as db:
        row = turns.get(db, turn.id)
        assert row is not None
        return usage.read_usage(row.usage)


def used_by_conversation(turn: ClaimedTurn) -> Usage:
    with transaction() as db:
        return usage.read_usage(conversations.get(db, turn.tenant_id, turn.conversation_id).usage)


def lines(turn: ClaimedTurn, group_by: Any) -> dict[str, tuple[int, float, int]]:
    with transaction() as db:
        today = datetime.now(UTC).date()
        found = usage.report(db, turn.tenant_id, today, today, group_by, 10)
    return {line.key: (line.llm_calls, line.cost, line.unpriced_calls) for line in found.items}


def bound(**budget: Any) -> UUID:
    tenant = make_tenant()
    with transaction() as db:
        tenants.set_budget(db, "acme", Budget(**budget))
    return tenant


def test_a_turns_usage_adds_up_over_plan_and_reply() -> None:
    """The turn has the cost of both. Once the turn is final, its conversation has it too."""
    turn = claimed()
    record_plan(turn, step("a", tool="sim.echo", args={"value": 1}), calls=[CALL, replace(CALL, purpose="repair")])
    before = used_by_conversation(turn)
    with statement() as db:
        db.execute("UPDATE turns SET status = 'responding'")
    finish(turn, replace(CALL, purpose="reply"))

    assert used(turn) == Usage(llm_calls=3, prompt_tokens=300, cached_tokens=120, completion_tokens=30, cost=1.5)
    assert (before.llm_calls, used_by_conversation(turn)) == (0, used(turn))
    with transaction() as db:
        calls = usage.calls_of(db, turn.tenant_id, turn.id)
    assert [(call.seq, call.purpose) for call in calls] == [(1, "plan"), (2, "repair"), (3, "reply")]


def test_an_unknown_price_is_counted() -> None:
    """A turn with a call of unknown price has no cost. The sums have the cost of the others and count this turn."""
    turn = claimed()
    finish(turn, CALL, UNPRICED)

    assert (used(turn).llm_calls, used(turn).cost) == (2, None)
    assert lines(turn, "model") == {"gpt-4o": (1, 0.5, 0), "mystery": (1, 0, 1)}


def test_an_old_fence_records_nothing_and_its_calls_are_counted_by_themselves(today: date) -> None:
    """Lost work is counted once by itself, before or after the turn's end."""
    turn = claimed()
    lost = finish(turn, CALL, attempt=turn.attempt + 1)
    with statement() as db:
        usage.record(db, turn.id, [CALL])
    finish(turn, CALL)
    with statement() as db:
        usage.record(db, turn.id, [CALL])

    assert not lost
    assert used(turn).llm_calls == used_by_conversation(turn).llm_calls == 3
    assert lines(turn, "day") == {today.isoformat(): (3, 1.5, 0)}


def test_calls_that_are_recorded_at_once_are_all_counted() -> None:
    """Turns of one tenant that end at the same moment lose no count and do not deadlock."""
    turns_ = [claimed(conversation_id=f"c{number}") for number in range(24)]

    with ThreadPoolExecutor(8) as threads:
        ended = list(threads.map(lambda turn: finish(turn, CALL, UNPRICED, CALL), turns_))

    assert all(ended)
    assert lines(turns_[0], "model") == {"gpt-4o": (48, 24.0, 0), "mystery": (24, 0, 24)}


def test_calls_that_are_recorded_at_once_do_not_wait_for_each_other(database: str, today: date) -> None:
    """Each connection counts in its own rows. None of nine open transactions blocks another."""
    turns_ = [claimed(conversation_id=f"c{number}") for number in range(9)]

    with ExitStack() as stack:
        options = f"-c search_path={functions.schema()},public -c lock_timeout=1000"
        for turn in turns_:
            db = stack.enter_context(psycopg.connect(database, options=options))
            db.execute("SELECT record_calls(%s, %s)", (turn.id, usage.write_calls([CALL])))

    assert lines(turns_[0], "day") == {today.isoformat(): (9, 4.5, 0)}


def test_sums_are_the_same_before_and_after_they_are_added_up(database: str) -> None:
    """Each sum becomes one row. Spending that is counted at the same moment is added up later."""
    turn = claimed()
    finish(turn, CALL, UNPRICED)
    with psycopg.connect(database) as other, statement() as db:
        other.execute("UPDATE usage_days SET cost = cost WHERE model = 'mystery'")
        added = [usage.sum_up(db)]
        other.commit()
        added += [usage.sum_up(db), usage.sum_up(db)]
        usage.record(db, turn.id, [CALL])
    between = lines(turn, "model")
    with statement() as db:
        added.append(usage.sum_up(db))
        rows = db.execute("SELECT model, slot, llm_calls FROM usage_days ORDER BY model").fetchall()

    assert added == [1, 1, 0, 1]
    assert between == lines(turn, "model") == {"gpt-4o": (2, 1.0, 0), "mystery": (1, 0, 1)}
    assert rows == [("gpt-4o", 0, 2), ("mystery", 0, 1)]


def test_usage_is_summed_by_day_agent_model_and_conversation(today: date) -> None:
    """Each grouping gives the same total, without the turns of another tenant or day."""
    first, second = claimed(conversation_id="c1", agent="travel"), claimed(conversation_id="c2")
    finish(first, CALL)
    finish(second, CALL, CALL)
    tenant = make_tenant("other")
    other = claim_turn(open_turn(tenant).turn_id)
    assert other is not None
    finish(other, CALL)

    assert lines(first, "day") == {today.isoformat(): (3, 1.5, 0)}
    assert lines(first, "agent") == {"generic": (2, 1.0, 0), "travel": (1, 0.5, 0)}
    assert lines(first, "conversation") == {"c2": (2, 1.0, 0), "c1": (1, 0.5, 0)}
    yesterday = today - timedelta(days=1)
    with transaction() as db:
        assert usage.report(db, first.tenant_id, today, today, "day", 1).total.llm_calls == 3
        assert usage.report(db, tenant, yesterday, today, "day", 1).total.llm_calls == 1
        before = usage.report(db, tenant, yesterday, yesterday, "conversation", 10)
    assert (before.items, before.total.llm_calls) == ([], 0)


def test_without_a_budget_nothing_bounds_a_turn() -> None:
    """Without a budget, a claim does not read the tenant's sums."""
    assert claimed().allowances == []


def test_a_budget_bounds_day_conversation_and_turn() -> None:
    """A claim returns the amount spent: by all turns of the day, by the conversation, and by the turn."""
    bound(day_cost=5, day_tokens=1000, conversation_tokens=400, turn_cost=1)
    finish(claimed(conversation_id="c1"), CALL)
    finish(claimed(conversation_id="c2"), CALL)
    turn = claimed(conversation_id="c1")
    with statement() as db:
        usage.record(db, turn.id, [CALL])
        material = replies.gather(db, turn.id)

    expected = {
        Allowance("day", "cost", 5, 1.0),
        Allowance("day", "tokens", 1000, 220),
        Allowance("conversation", "tokens", 400, 110),
        Allowance("turn", "cost", 1, 0),
    }
    assert set(turn.allowances) == expected
    assert material is not None
    assert {(allowance.scope, allowance.unit): allowance.spent for allowance in material.allowances} == {
        ("day", "cost"): 1.5,
        ("day", "tokens"): 330,
        ("conversation", "tokens"): 220,
        ("turn", "cost"): 0.5,
    }


def test_erasing_a_conversation_keeps_its_account() -> None:
    """Calls hold no words, so the cost of an erased conversation stays known."""
    turn = claimed()
    finish(turn, CALL)
    with transaction() as db:
        conversations.erase(db, turn.tenant_id, turn.conversation_id)

    assert used(turn).llm_calls == 1
    assert lines(turn, "conversation") == {"c1": (1, 0.5, 0)}


def test_ids_of_a_span_of_time_are_a_range() -> None:
    """An id made now lies between the first id of this moment and that of the next year."""
    now = datetime.now(UTC)

    made = new_id()

    assert first_id(now.replace(microsecond=0)) <= made < first_id(now.replace(year=now.year + 1))
    assert first_id(now).version == 7
