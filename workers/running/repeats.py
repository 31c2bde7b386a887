"""Repeats: the same call with an effect is made once in a turn.

It is compared when its step is claimed and its references are filled in, under the turn's lock, with the calls of the
other steps that are under way, were made, or may have been. A step that is alone with its tool needs no look.
"""

from typing import Any
from uuid import UUID

from models.connections.database import statement
from models.errors import Unavailable
from models.ledger import steps
from models.ledger.steps import ClaimedStep
from models.runtime.crash_points import reach
from models.runtime.logging import log
from tools.identity import call_hash
from tools.registry import Tool
from workers.running.outcomes import Outcome, Parked, failed


def begin(turn_id: UUID, step: ClaimedStep, tool: Tool, args: dict[str, Any]) -> Outcome | None:
    """Tell the ledger which call a step is about to make. None: it may be made."""
    call = call_hash(tool, args) if step.has_rivals else None
    if call is None:
        return None
    try:
        with statement() as db:
            begun = steps.begin_effect(db, turn_id, step.id, step.attempt, call)
    except Unavailable as error:
        # Without a word the step is let go of: its lease runs out, and who claims it next looks again.
        log.warning("effect.unbegun", turn_id=str(turn_id), step_id=step.id, error=error.code)
        return Parked(step.id, step.attempt)
    if begun.rival is not None:
        message = f"step {begun.rival!r} of this turn makes the same call of {tool.name}, which is made once"
        return failed(step, "CONFLICT", f"{message}: if both are wanted, give them arguments that differ")
    reach("effect.begun")
    return None if begun.is_ours else Parked(step.id, step.attempt)
