"""Respond: the results become a reply, the reply ends the turn, and the conversation's next turn may start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from models.contracts.plan import StepStatus
from models.contracts.turn import Stop, Usage
from models.crash_points import reach
from models.database import statement, transaction
from models.ledger import plans, steps, turns
from models.ledger.turns import Ending, FinalStatus
from models.logging import log
from models.redis import announce, append_delta
from models.tables.steps import StepRow
from models.tables.turns import TurnRow
from planner.policy import apology
from planner.responder import Composed, Outcome, StepOutcome, compose
from workers.app import app
from workers.dispatch import dispatch_turn
from workers.heartbeat import leases
from workers.parts import agents, llm, registry


@app.task(name="respond")
def respond_task(turn_id: str, attempt: int) -> None:
    """Answer a turn whose last step ended on a queue that is kept for other work."""
    respond(UUID(turn_id), attempt)


def respond(turn_id: UUID, attempt: int) -> None:
    """Make the reply of a turn from the results of its steps, and end the turn under this fence."""
    with leases.holding_turn(turn_id, attempt):
        _respond(turn_id, attempt)


def _respond(turn_id: UUID, attempt: int) -> None:
    loaded = _load(turn_id)
    if loaded is None:
        return
    try:
        ending = _compose(loaded)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the user gets a word
        log.exception("reply.failed", turn_id=str(turn_id))
        ending = broken(error, str(turn_id), loaded.usage)
    finish(turn_id, attempt, ending)


def finish(turn_id: UUID, attempt: int, ending: Ending) -> None:
    """End a turn, tell its readers, and dispatch the conversation's next one."""
    reach("reply.composed")
    with statement() as db:
        finished = turns.finish(db, turn_id, attempt, ending)
    if finished is None:
        log.warning("turn.fenced", turn_id=str(turn_id), attempt=attempt)
        return
    reach("turn.finished")
    announce(turn_id, finished.events)
    log.info("turn.finished", turn_id=str(turn_id), status=ending.status)
    if finished.next_turn_id is not None:
        dispatch_turn(finished.next_turn_id)


def broken(error: Exception, turn_id: str, usage: Usage) -> Ending:
    """Return how a turn ends that our own fault has broken."""
    reason = {"code": "internal_error", "message": f"{type(error).__name__}; the log has the place"}
    reply = apology("internal_error", reference=turn_id)
    return Ending("failed", reply, {"written_by": "apology"}, usage, error=reason)


@dataclass(frozen=True)
class _Loaded:
    turn: TurnRow
    steps: Sequence[StepRow]
    submitted: bool
    left_ms: int

    @property
    def usage(self) -> Usage:
        return Usage(**self.turn.usage)


def _load(turn_id: UUID) -> _Loaded | None:
    with transaction() as db:
        turn = turns.get(db, turn_id)
        if turn is None:
            return None
        revisions = plans.of_turn(db, turn_id)
        submitted = bool(revisions) and revisions[-1].source == "caller"
        left_ms = turns.left_ms(db, turn.deadline_at)
        return _Loaded(turn, steps.of_turn(db, turn_id), submitted, left_ms)


def _compose(loaded: _Loaded) -> Ending:
    turn = loaded.turn
    outcome = Outcome(
        agent=agents().get(turn.agent),
        message=turn.message,
        action=turn.action,
        synthesis_hint=turn.synthesis_hint,
        submitted=loaded.submitted,
        stop=cast("Stop | None", turn.ending),
        steps=[_outcome(step) for step in loaded.steps],
        tools=registry(),
        user=turn.person,
        timeout_s=loaded.left_ms / 1000,
    )
    composed = compose(outcome, llm(), Deltas(turn.id, turn.last_event))
    status, error = _status(loaded)
    usage = loaded.usage.plus(composed.usage) if composed.usage.llm_calls else loaded.usage
    return Ending(status, composed.reply, _trace(composed), usage, output=composed.output, error=error)


def _outcome(step: StepRow) -> StepOutcome:
    needs = step.result["needs"] if step.status == "needs_input" else None
    return StepOutcome(
        id=step.id,
        tool=step.tool,
        args=step.args,
        status=cast("StepStatus", step.status),
        result=None if needs else step.result,
        error=step.error,
        needs=needs,
    )


class Deltas:
    """Hands the pieces of a reply to live readers, numbered after the turn's last event."""

    def __init__(self, turn_id: UUID, after: int) -> None:
        self._turn_id = turn_id
        self._after = after
        self._number = 0

    def __call__(self, text: str) -> None:
        self._number += 1
        append_delta(self._turn_id, self._after, self._number, text)


def _trace(composed: Composed) -> dict[str, object]:
    return {"written_by": composed.written_by, "prompts": list(composed.prompts)}


def _status(loaded: _Loaded) -> tuple[FinalStatus, dict[str, str] | None]:
    """A turn fails when nothing of it succeeded, or when it was to stop at the first failure and did."""
    stop = loaded.turn.ending
    if stop in ("cancelled", "superseded"):
        return cast("FinalStatus", stop), None
    statuses = [step.status for step in loaded.steps]
    critical = any(step.status == "failed" and step.critical for step in loaded.steps)
    stopped = critical and loaded.turn.on_error == "fail_fast"
    useful = any(status in ("succeeded", "needs_input") for status in statuses) or not (statuses or stop)
    if useful and not stopped:
        return "succeeded", None
    if stop and not stopped:
        return "failed", {"code": "deadline", "message": "the deadline had passed before anything had succeeded"}
    failed = [step.id for step in loaded.steps if step.status in ("failed", "unknown")]
    return "failed", {"code": "steps_failed", "message": f"failed: {', '.join(failed) or 'none could run'}"}
