"""The end of a turn: the output of its agent's formatter, and its status."""

import time
from dataclasses import replace
from uuid import UUID

from turnloom.models.contracts.material import Material
from turnloom.models.contracts.turn import FinalTurnStatus
from turnloom.models.runtime.logging import log
from turnloom.planner.reply.aggregation import STEP, aggregated, aggregation
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.tools.context import ToolContext
from turnloom.tools.runner import run

_AGGREGATION_S = 1.0
"""Time limit of a formatter. It is pure, and also runs after the deadline."""


def with_output(given: ReplyInput, turn_id: UUID) -> ReplyInput:
    """Return the input of a reply with the output of the agent's formatter, if no step of the plan has made it."""
    call, material = aggregation(given), given.material
    if call is None:
        return given
    context = ToolContext(
        tenant_id=material.tenant_id,
        conversation_id=material.conversation_id,
        turn_id=turn_id,
        step_id=STEP,
        attempt=1,
        idempotency_key=f"{turn_id}/{STEP}",
        deadline=time.monotonic() + max(material.left_ms / 1000, _AGGREGATION_S),
        user=material.person,
        agent=material.agent,
    )
    envelope = run(call.tool, call.args, context)
    if not envelope.ok:
        log.warning("aggregation.failed", turn_id=str(turn_id), tool=call.tool.name, error=envelope.error)
        return given
    steps = [*material.steps, aggregated(call, envelope.data)]
    return replace(given, material=replace(material, steps=steps))


def final_status(material: Material) -> tuple[FinalTurnStatus, dict[str, str] | None]:
    """Return the final status of a turn, and its error.

    It fails if no step succeeded, or if it stopped at its first failure as asked.
    """
    stop = material.ending
    if stop == "paused":
        return "cancelled", {"code": "paused", "message": "a person took the conversation over, who answers in it"}
    if stop in ("cancelled", "superseded"):
        return stop, None
    statuses = [step.status for step in material.steps]
    critical = any(step.status == "failed" and step.critical for step in material.steps)
    stopped = critical and material.on_error == "fail_fast"
    useful = any(status in ("succeeded", "needs_input") for status in statuses) or not (statuses or stop)
    useful = useful or bool(material.reply)
    if useful and not stopped:
        return "succeeded", None
    if stop and not stopped:
        return "failed", {"code": "deadline", "message": "the deadline passed before any step had succeeded"}
    failed = [step.id for step in material.steps if step.status in ("failed", "unknown")]
    return "failed", {"code": "steps_failed", "message": f"failed: {', '.join(failed) or 'none could run'}"}
