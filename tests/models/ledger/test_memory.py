"""The slots and results of a turn are there for the next turn, unless the turn was rolled back."""

from dataclasses import asdict
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, recall
from tests.models.ledger.remembering import CALL, answered, begun_turn, found, known, planned
from tests.models.ledger.stopping import end
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import conversations, memory, steps
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder

pytestmark = pytest.mark.usefixtures("database")


def test_a_turns_state_becomes_its_conversations() -> None:
    """The next turn gets it. Slots that results fill at the end count too."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first, {"adults": 3})
    found(first)
    found(first, "b", call=None)
    answered(first, {"adults": 3, "day": "2026-12-01"})

    assert first.slots == {}
    assert begun_turn(tenant).slots == {"adults": 3, "day": "2026-12-01"}
    assert begun_turn(tenant, conversation_id="c2").slots == {}


def test_a_turn_that_settles_nothing_leaves_the_state_alone() -> None:
    """A turn without a plan, or with a plan that fills no slot, changes nothing."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first, {"adults": 3})
    found(first)
    found(first, "b", call=None)
    answered(first)
    finish_turn(begun_turn(tenant))

    assert begun_turn(tenant).slots == {"adults": 3}


@pytest.mark.parametrize(("policy", "kept"), [("interrupt", True), ("rollback", False)])
def test_a_turn_that_was_rolled_back_is_forgotten(policy: Any, kept: bool) -> None:
    """An interrupted turn keeps its slots and results. One that was rolled back leaves nothing."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first, {"adults": 3})
    found(first)
    second = open_turn(tenant, on_busy=policy)
    assert second.closed is not None
    end(first.id, second.closed.respond or 0, "superseded")

    turn = claim_turn(second.turn_id)

    assert turn is not None
    assert turn.slots == ({"adults": 3} if kept else {})
    assert known(turn) == ("sunny" if kept else None)


def test_the_next_turn_of_a_conversation_gets_earlier_results() -> None:
    """Each comes with its arguments, its step and its age. In its own turn it is an ordinary result."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first)
    found(first)
    found(first, "b", call=None)
    own = recall(first).memory
    answered(first)
    second = begun_turn(tenant)
    (entry,) = recall(second).memory

    assert own == []
    assert {**asdict(entry), "age_s": 0} == {
        "tool": "a.look",
        "args": {"city": "Rome"},
        "result": "sunny",
        "turn": str(first.id),
        "step": "a",
        "age_s": 0,
        "holds": True,
    }
    assert known(second) == "sunny"
    assert known(begun_turn(tenant, conversation_id="c2")) is None
    assert known(begun_turn(make_tenant("other"))) is None


def test_an_expired_result_is_not_used_and_is_removed(database: str) -> None:
    """The ledger's clock decides. The conversation's next result replaces it."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first)
    found(first, call={**CALL, "for_s": 0.0})
    stale = known(first)
    found(first, "b", result="rainy")
    with psycopg.connect(database) as ledger:
        rows = ledger.execute("SELECT step_id FROM memory").fetchall()

    assert stale is None
    assert known(first) == "rainy"
    assert rows == [("b",)]


def test_the_newest_of_each_tool_come_first_and_a_hundred_stay() -> None:
    """Many results of one tool do not displace the only one of another, in the ledger or for the planner."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first)
    with statement() as db:
        db.execute(
            "INSERT INTO memory (tenant_id, conversation_id, tool, input_hash, args, turn_id, step_id, holds, at,"
            " expires_at) SELECT %s, 'c1', CASE n WHEN 150 THEN 'a.link' ELSE 'a.look' END, n::text, '{}', %s, 'a',"
            " true, now() - n * interval '1 second', now() + interval '1 hour' FROM generate_series(1, 150) n",
            (tenant, uuid4()),
        )
    found(first)
    with statement() as db:
        left = db.execute("SELECT tool, count(*) FROM memory GROUP BY tool ORDER BY tool").fetchall()
    told = [entry.tool for entry in recall(first).memory]

    assert left == [("a.link", 1), ("a.look", 99)]
    assert (len(told), told[-1]) == (20, "a.link")


def test_a_stale_worker_has_nothing_remembered() -> None:
    """A record under an old fence changes nothing."""
    turn = begun_turn(make_tenant())
    planned(turn)
    late = FinishedStep("a", 7, "succeeded", "old", input_hash="h", remember=CALL)
    with statement() as db:
        steps.advance(db, turn.id, turn.generation, Handover([late]), Capacity("tools.io", 0), Holder("w", 60_000))

    assert known(turn) is None


def test_two_equal_calls_that_end_together_are_remembered_once() -> None:
    """One commit may contain both."""
    turn = begun_turn(make_tenant())
    planned(turn)
    holder = Holder("w", 60_000)
    with statement() as db:
        claim = steps.claim(db, turn.id, [["a"], ["b"]], turn.generation, holder)
        done = [FinishedStep(name, 1, "succeeded", "sunny", input_hash="h", remember=CALL) for name in ("a", "b")]
        advance = steps.advance(db, turn.id, turn.generation, Handover(done), Capacity("tools.io", 0), holder)

    assert len(claim.lanes) == 2
    assert advance.fenced == []
    assert known(turn) == "sunny"


def test_erasure_covers_memory(database: str) -> None:
    """State, results and summary are erased. A summary that is made at that moment is not kept."""
    tenant = make_tenant()
    first = begun_turn(tenant)
    planned(first, {"adults": 3})
    found(first)
    found(first, "b", call=None)
    answered(first)
    with statement() as db:
        before = memory.unsummarised(db, first.id, 10)
        assert before is not None
    with transaction() as db:
        conversations.erase(db, tenant, "c1")
    with statement() as db:
        kept = memory.summarise(db, before, "They were three.", 1)
    with psycopg.connect(database) as ledger:
        row = ledger.execute("SELECT slots, summary FROM conversations").fetchone()
        left = ledger.execute("SELECT count(*) FROM memory").fetchone()
        of_turn = ledger.execute("SELECT slots FROM turns").fetchone()

    assert not kept
    assert (row, left, of_turn) == (({}, None), (0,), (None,))


def test_only_final_turns_are_summed_up_and_once() -> None:
    """A summary covers the turns before the first unfinished one and replaces them. The first summary counts."""
    tenant = make_tenant()
    for number in range(4):
        finish_turn(begun_turn(tenant, message=f"m{number}"), text=f"r{number}")
    current = begun_turn(tenant, message="now")
    with statement() as db:
        one = memory.unsummarised(db, current.id, 3)
        other = memory.unsummarised(db, current.id, 10)
        assert one is not None
        assert other is not None
        kept = memory.summarise(db, one, "first", 2), memory.summarise(db, other, "second", 3)

    assert [each["message"] for each in one.history] == ["m0", "m1", "m2"]
    assert [each["message"] for each in other.history] == ["m0", "m1", "m2", "m3"]
    assert kept == (True, False)
    told = recall(current)
    assert (told.summary, [(each.seq, each.message) for each in told.history]) == ("first", [(3, "m2"), (4, "m3")])
