"""A step and its call, as its backend got it: by these an operator finds out in the backend what became of it."""

from turnloom.models.connections.database import Transaction
from turnloom.models.contracts.dead_letter import CalledStep, StepCall
from turnloom.models.errors import NotFound, ToolFailed
from turnloom.models.ledger import conversations, steps
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import TurnRow
from turnloom.planner.plan.references import resolve_args
from turnloom.tools.call_identity import idempotency_key

_OF_ROW = "tool effect status attempt worker started_at finished_at fallbacks result error".split()


def called_step(db: Transaction, turn: TurnRow, step_id: str) -> CalledStep:
    """Return a step of a turn with its call.

    Raises:
        NotFound: the turn has no such step.
    """
    others = steps.of_turn(db, turn.id)
    step = next((each for each in others if each.id == step_id), None)
    if step is None:
        raise NotFound(f"there is no step {step_id!r} in turn {turn.id}")
    conversation = conversations.get(db, turn.tenant_id, turn.conversation_id)
    return CalledStep(
        turn_id=str(turn.id),
        turn_status=turn.status,
        conversation_id=turn.conversation_id,
        step=step.id,
        call=_call(step, others) if _was_called(step) and not conversation.erased_at else None,
        **{name: getattr(step, name) for name in _OF_ROW},
    )


def _was_called(step: StepRow) -> bool:
    """Return whether a step has made its own call: it has begun, and its result came from nowhere else."""
    has_begun = step.started_at is not None and step.status != "skipped"
    return has_begun and step.cache is None and step.copy_of is None


def _call(step: StepRow, others: list[StepRow]) -> StepCall | None:
    """Return the step's call; None if it could not be made, so that there was none."""
    results = {other.id: other.result for other in others if other.id in step.inputs and other.status == "succeeded"}
    try:
        args = resolve_args(step.args, results)
    except (LookupError, ToolFailed):
        return None
    return StepCall(args=args, idempotency_key=idempotency_key(step.turn_id, step.id, args))
