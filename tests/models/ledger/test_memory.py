"""The slots and results of a turn are there for the next turn, unless the turn was rolled back."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.factories import NOTHING, PLANNER, REGISTRY, claim_turn, finish_turn, make_tenant, open_turn, recall, step
from tests.models.ledger.stopping import end
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import conversations, memory, plans, replies, steps, turns
from turnloom.models.ledger.plans import NewPlan
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder
from turnloom.models.ledger.turns import ClaimedTurn, Ending
from turnloom.workers.compiling import compile_plan, fragment_rows

pytestmark = pytest.mark.usefixtures("database")

CALL = {"tool": "a.look", "args": {"city": "Rome"}, "for_s": 60.0}


def _turn(tenant: UUID, **request: Any) -> ClaimedTurn:
    turn = claim_turn(open_turn(tenant, **request).turn_id)
    assert turn is not None
    return turn


def _plan(turn: ClaimedTurn, slots: dict[str, Any] | None = None, effect: str = "read") -> None:
    plan = Plan.model_validate({"steps": [step("a"), step("b")]})
    compiled = compile_plan(plan, REGISTRY, "dense")
    columns = [{**column, "effect": effect} for column in compiled.steps]
    rows = fragment_rows(compiled.fragments)
    new = NewPlan(plan, "llm", {}, columns, rows, "dense", None, slots=slots)
    with statement() as db:
        assert plans.record(db, turn.id, turn.attempt, new, NOTHING, PLANNER) is not None


def _find(turn: ClaimedTurn, name: str = "a", result: Any = "sunny", call: dict[str, Any] | None = CALL) -> None:
    """Run a step of a turn; `call` is the call to remember."""
    holder = Holder("w", 60_000)
    with statement() as db:
        claim = steps.claim(db, turn.id, [[name]], turn.generation, holder)
        claimed = claim.lanes[0].step
        assert claimed is not None
        found = FinishedStep(name, claimed.attempt, "succeeded", result, input_hash="h", remember=call)
        steps.advance(db, turn.id, turn.generation, Handover([found]), Capacity("tools.io", 0), holder)


def _known(turn: ClaimedTurn) -> Any:
    with statement() as db:
        return memory.find(db, turn.tenant_id, turn.conversation_id, "a.look", "h")


def _answer(turn: ClaimedTurn, slots: dict[str, Any] | None = None) -> None:
    ending = Ending("succeeded", Reply(text="done"), {}, slots=slots)
    attempt = turn.attempt + 1  # its steps have ended meanwhile
    with statement() as db:
        assert turns.finish(db, turn.id, attempt, ending) is not None


def test_a_turns_state_becomes_its_conversations() -> None:
    """The next turn gets it. Slots that results fill at the end count too."""
    tenant = make_tenant()
    first = _turn(tenant)
    _plan(first, {"adults": 3})
    _find(first)
    _find(first, "b", call=None)
    _answer(first, {"adults": 3, "day": "2026-12-01"})

    assert first.slots == {}
    assert _turn(tenant).slots == {"adults": 3, "day": "2026-12-01"}
    assert _turn(tenant, conversation_id="c2").slots == {}


def test_a_turn_that_settles_nothing_leaves_the_state_alone() -> None:
    """A turn without a plan, or with a plan that fills no slot, changes nothing."""
    tenant = make_tenant()
    first = _turn(tenant)
    _plan(first, {"adults": 3})
    _find(first)
    _find(first, "b", call=None)
    _answer(first)
    finish_turn(_turn(tenant))

    assert _turn(tenant).slots == {"adults": 3}


@pytest.mark.parametrize(("policy", "kept"), [("interrupt", True), ("rollback", False)])
def test_a_turn_that_was_rolled_back_is_forgotten(policy: Any, kept: bool) -> None:
    """An interrupted turn keeps its slots and results. One that was rolled back leaves nothing."""
    tenant = make_tenant()
    first = _turn(tenant)
    _plan(first, {"adults": 3})
    _find(first)
    second = open_turn(tenant, on_busy=policy)
    assert second.closed is not None
    end(first.id, second.closed.respond or 0, "superseded")

    turn = claim_turn(second.turn_id)

    assert turn is not None
    assert turn.slots == ({"adults": 3} if kept else {})
    assert _known(turn) == ("sunny" if kept else None)


def test_the_next_turn_of_a_conversation_gets_earlier_results() -> None:
    """Each comes with its arguments, its step and its age. In its own turn it is an ordinary result."""
    tenant = make_tenant()
    first = _turn(tenant)
    _plan(first)
    _find(first)
    _find(first, "b", call=None)
    own = recall(first).memory
    _answer(first)
    second = _turn(tenant)
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
    assert _known(second) == "sunny"
    assert _known(_turn(tenant, conversation_id="c2")) is None
    assert _known(_turn(make_tenant("other"))) is None


def test_an_expired_result_is_not_used_and_is_removed(database: str) -> None:
    """The ledger's clock decides. The conversation's next result replaces it."""
    tenant = make_tenant()
    first = _turn(tenant)
    _plan(first)
    _find(first, call={**CALL, "for_s": 0.0})
    stale = _known(first)
    _find(first, "b", result="rainy")
    with psycopg.connect(database) as ledger:
        rows = ledger.execute("SELECT step_id FROM memory").fetchall()

    assert stale is None
    assert _known(first) == "rainy"
    assert rows == [("b",)]


def test_after_a_write_nothing_found_before_it_holds() -> None:
    """The write may have changed the data, so the next call is made. The reply may still use the earlier result."""
    tenant = make_tenant()
    first = _turn(tenant)
    _plan(first)
    _find(first)
    _find(first, "b", call=None)
    _answer(first)
    second = _turn(tenant)
    _plan(second, effect="write")
    before = _known(second)
    _find(second, call=None)

    with statement() as db:
        material = replies.gather(db, second.id)
    assert material is not None
    assert (before, _known(second), [entry.holds for entry in recall(second).memory]) == ("sunny", None, [False])
    assert [entry.result for entry in material.memory] == ["sunny"]


def test_a_read_beside_a_write_is_not_remembered() -> None:
    """The order of the two is unknown."""
    turn = _turn(make_tenant())
    _plan(turn, effect="write")
    with statement() as db:
        db.execute("UPDATE steps SET effect = 'read' WHERE id = 'b'")
        steps.claim(db, turn.id, [["a"]], turn.generation, Holder("w", 60_000))
    _find(turn, "b")

    assert _known(turn) is None


def test_a_stale_worker_has_nothing_remembered() -> None:
    """A record under an old fence changes nothing."""
    turn = _turn(make_tenant())
    _plan(turn)
    late = FinishedStep("a", 7, "succeeded", "old", input_hash="h", remember=CALL)
    with statement() as db:
        steps.advance(db, turn.id, turn.generation, Handover([late]), Capacity("tools.io", 0), Holder("w", 60_000))

    assert _known(turn) is None


def test_two_equal_calls_that_end_together_are_remembered_once() -> None:
    """One commit may contain both."""
    turn = _turn(make_tenant())
    _plan(turn)
    holder = Holder("w", 60_000)
    with statement() as db:
        claim = steps.claim(db, turn.id, [["a"], ["b"]], turn.generation, holder)
        done = [FinishedStep(name, 1, "succeeded", "sunny", input_hash="h", remember=CALL) for name in ("a", "b")]
        advance = steps.advance(db, turn.id, turn.generation, Handover(done), Capacity("tools.io", 0), holder)

    assert len(claim.lanes) == 2
    assert advance.fenced == []
    assert _known(turn) == "sunny"


def test_erasure_covers_memory(database: str) -> None:
    """State, results and summary are erased. A summary that is made at that moment is not kept."""
    tenant = make_tenant()
    first = _turn(tenant)
    _plan(first, {"adults": 3})
    _find(first)
    _find(first, "b", call=None)
    _answer(first)
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
        finish_turn(_turn(tenant, message=f"m{number}"), text=f"r{number}")
    current = _turn(tenant, message="now")
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
    assert (told.summary, [each.message for each in told.history]) == ("first", ["m2", "m3"])
