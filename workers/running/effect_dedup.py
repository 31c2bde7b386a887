"""Repeats are refused: the same call with an effect is made once in a turn.

When a step is claimed and its references are filled in, its call is compared, under the turn's lock, with those of
other steps that run, were made, or may have been. A step that is the only one with its tool needs no comparison.
"""

from typing import Any
from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import ClaimedStep
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.tools.call_identity import call_hash
from turnloom.tools.registry import Tool
from turnloom.workers.running.outcomes import Outcome, Parked, failed


def begin(turn_id: UUID, step: ClaimedStep, tool: Tool, args: dict[str, Any]) -> Outcome | None:
    """Record the call that a step is about to make. None: it may be made."""
    call = call_hash(tool, args) if step.has_rivals else None
    if call is None:
        return None
    try:
        with statement() as db:
            begun = steps.begin_effect(db, turn_id, step.id, step.attempt, call)
    except Unavailable as error:
        # The step is released without an outcome: its lease expires, and its next holder compares again.
        log.warning("effect.unbegun", turn_id=str(turn_id), step_id=step.id, error=error.code)
        return Parked(step.id, step.attempt)
    if begun.rival is not None:
        message = f"step {begun.rival!r} of this turn makes the same call of {tool.name}, which is made once"
        return failed(step, "CONFLICT", f"{message}: if both are wanted, give them arguments that differ")
    reach("effect.begun")
    return None if begun.is_ours else Parked(step.id, step.attempt)
