"""Make the material of a reply without a ledger."""

from typing import Any
from uuid import UUID

from turnloom.models.contracts.material import Material
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Usage


def make_material(*steps: StepResult, **fields: Any) -> Material:
    """Return the material of a turn with these steps; `fields` replace the defaults."""
    ordinary: dict[str, Any] = {
        "tenant_id": UUID(int=1),
        "conversation_id": "c1",
        "agent": "travel",
        "llm": None,
        "manner": None,
        "message": "Rome?",
        "person": {},
        "action": None,
        "synthesis_hint": None,
        "on_error": "best_effort",
        "ending": None,
        "submitted": False,
        "stood_in": False,
        "confidence": None,
        "reply": None,
        "slots": {},
        "memory": [],
        "history": [],
        "usage": Usage(cost=0.0),
        "allowances": [],
        "last_event": 1,
        "mode": None,
        "revision": 1,
        "spent_ms": 10,
        "left_ms": 60_000,
    }
    return Material(**ordinary | fields, steps=list(steps))
