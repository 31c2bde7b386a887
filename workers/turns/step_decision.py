"""An operator's decision about a step of unknown outcome is checked against the step's tool, and recorded."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from turnloom.models.connections.database import Transaction
from turnloom.models.contracts.dead_letter import StepDecision
from turnloom.models.contracts.event import Event
from turnloom.models.errors import Invalid
from turnloom.models.ledger import dead_letters, steps
from turnloom.models.runtime.operators import Operator
from turnloom.models.runtime.value_faults import faults_of
from turnloom.tools.registry import Registry, Tool


def decide(
    db: Transaction, turn_id: UUID, step_id: str, decision: StepDecision, by: Operator, tools: Callable[[], Registry]
) -> list[Event]:
    """Record the outcome of a step that was unknown; return the events, none if the turn is final.

    `tools`: gives the enabled tools, which only a result needs. Of a tool that is not enabled any more, any object may
    be the result.

    Raises:
        NotFound: there is no such step.
        Conflict: its outcome is known.
        Invalid: the result is none of the step's tool; the error has one fault for each field.
    """
    if decision.result is not None:
        tool = _undecided_tool(db, turn_id, step_id, tools())
        if tool is not None:
            _check_result(tool, decision.result)
    return dead_letters.decide(db, turn_id, step_id, decision, by)


def _undecided_tool(db: Transaction, turn_id: UUID, step_id: str, tools: Registry) -> Tool | None:
    """Return the tool of a step of unknown outcome. Its fallbacks only read, so that none of them ends so."""
    found = (row for row in steps.of_turn(db, turn_id) if row.id == step_id and row.status == "unknown")
    return next((tools.tools.get(row.tool) for row in found), None)


def _check_result(tool: Tool, result: dict[str, Any]) -> None:
    try:
        tool.output.model_validate(result, by_name=True)
    except ValidationError as error:
        message = f"the result is none of {tool.name}: {faults_of(error, 'it')}"
        raise Invalid(message, faults=[_fault(each) for each in error.errors(include_url=False)]) from None


def _fault(found: Any) -> dict[str, Any]:
    field = ".".join(["result", *map(str, found["loc"])])
    return {"field": field, "code": found["type"], "detail": found["msg"]}
