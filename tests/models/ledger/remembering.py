"""Turns whose results a conversation remembers, as the lifecycle runs them."""

from typing import Any
from uuid import UUID

from tests.factories import NOTHING, PLANNER, REGISTRY, claim_turn, open_turn, step
from turnloom.models.connections.database import statement
from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import memory, plans, steps, turns
from turnloom.models.ledger.plans import NewPlan
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder
from turnloom.models.ledger.turns import ClaimedTurn, Ending
from turnloom.workers.compiling import compile_plan, fragment_rows

CALL = {"tool": "a.look", "args": {"city": "Rome"}, "for_s": 60.0}


def begun_turn(tenant: UUID, **request: Any) -> ClaimedTurn:
    turn = claim_turn(open_turn(tenant, **request).turn_id)
    assert turn is not None
    return turn


def planned(turn: ClaimedTurn, slots: dict[str, Any] | None = None, effect: str = "read") -> None:
    plan = Plan.model_validate({"steps": [step("a"), step("b")]})
    compiled = compile_plan(plan, REGISTRY, "dense")
    columns = [{**column, "effect": effect} for column in compiled.steps]
    rows = fragment_rows(compiled.fragments)
    new = NewPlan(plan, "llm", {}, columns, rows, "dense", None, slots=slots)
    with statement() as db:
        assert plans.record(db, turn.id, turn.attempt, new, NOTHING, PLANNER) is not None


def found(turn: ClaimedTurn, name: str = "a", result: Any = "sunny", call: dict[str, Any] | None = CALL) -> None:
    """Run a step of a turn; `call` is the call to remember."""
    holder = Holder("w", 60_000)
    with statement() as db:
        claim = steps.claim(db, turn.id, [[name]], turn.generation, holder)
        claimed = claim.lanes[0].step
        assert claimed is not None
        found = FinishedStep(name, claimed.attempt, "succeeded", result, input_hash="h", remember=call)
        steps.advance(db, turn.id, turn.generation, Handover([found]), Capacity("tools.io", 0), holder)


def known(turn: ClaimedTurn) -> Any:
    with statement() as db:
        return memory.find(db, turn.tenant_id, turn.conversation_id, "a.look", "h")


def answered(turn: ClaimedTurn, slots: dict[str, Any] | None = None) -> None:
    ending = Ending("succeeded", Reply(text="done"), {}, slots=slots)
    attempt = turn.attempt + 1  # its steps have ended meanwhile
    with statement() as db:
        assert turns.finish(db, turn.id, attempt, ending) is not None
