"""Respond: the results become a reply, the reply ends the turn, and the conversation's next turn may start."""

from uuid import UUID

from models.contracts.turn import Usage
from models.crash_points import reach
from models.database import statement
from models.ledger import replies, turns
from models.ledger.replies import EndedStep, Material
from models.ledger.turns import Ending, FinalStatus
from models.logging import log
from models.redis import announce, append_delta, settle_deltas
from planner.policy import apology
from planner.responder import Composed, Outcome, StepOutcome, compose
from workers.app import app
from workers.dispatch import dispatch_turns
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
    with statement() as db:
        material = replies.gather(db, turn_id)
    if material is None:
        return
    try:
        ending = _compose(turn_id, material)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the user gets a word
        log.exception("reply.failed", turn_id=str(turn_id))
        ending = broken(error, str(turn_id), Usage(**material.usage))
    finish(turn_id, attempt, ending)


def finish(turn_id: UUID, attempt: int, ending: Ending) -> None:
    """End a turn, tell its readers, and dispatch the turns that may start now."""
    reach("reply.composed")
    with statement() as db:
        finished = turns.finish(db, turn_id, attempt, ending)
    if finished is None:
        log.warning("turn.fenced", turn_id=str(turn_id), attempt=attempt)
        return
    reach("turn.finished")
    announce(turn_id, finished.events)
    log.info("turn.finished", turn_id=str(turn_id), status=ending.status)
    dispatch_turns(finished.released)


def broken(error: Exception, turn_id: str, usage: Usage) -> Ending:
    """Return how a turn ends that our own fault has broken."""
    reason = {"code": "internal_error", "message": f"{type(error).__name__}; the log has the place"}
    reply = apology("internal_error", reference=turn_id)
    return Ending("failed", reply, {"written_by": "apology"}, usage, error=reason)


def _compose(turn_id: UUID, material: Material) -> Ending:
    outcome = Outcome(
        agent=agents().get(material.agent),
        message=material.message,
        action=material.action,
        synthesis_hint=material.synthesis_hint,
        submitted=material.submitted,
        stop=material.ending,
        steps=[_outcome(step) for step in material.steps],
        tools=registry(),
        user=material.person,
        timeout_s=material.left_ms / 1000,
    )
    deltas = Deltas(turn_id, material.last_event)
    composed = compose(outcome, llm(), deltas)
    deltas.settle()
    status, error = _status(material)
    usage = Usage(**material.usage)
    if composed.usage.llm_calls:
        usage = usage.plus(composed.usage)
    return Ending(status, composed.reply, _trace(composed), usage, output=composed.output, error=error)


def _outcome(step: EndedStep) -> StepOutcome:
    needs = step.result["needs"] if step.status == "needs_input" else None
    return StepOutcome(
        id=step.id,
        tool=step.tool,
        args=step.args,
        status=step.status,
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

    def settle(self) -> None:
        """Return when live readers can have all the pieces: call it before the event that comes after them."""
        if self._number:
            settle_deltas()


def _trace(composed: Composed) -> dict[str, object]:
    return {"written_by": composed.written_by, "prompts": list(composed.prompts)}


def _status(material: Material) -> tuple[FinalStatus, dict[str, str] | None]:
    """A turn fails when nothing of it succeeded, or when it was to stop at the first failure and did."""
    stop = material.ending
    if stop in ("cancelled", "superseded"):
        return stop, None
    statuses = [step.status for step in material.steps]
    critical = any(step.status == "failed" and step.critical for step in material.steps)
    stopped = critical and material.on_error == "fail_fast"
    useful = any(status in ("succeeded", "needs_input") for status in statuses) or not (statuses or stop)
    if useful and not stopped:
        return "succeeded", None
    if stop and not stopped:
        return "failed", {"code": "deadline", "message": "the deadline had passed before anything had succeeded"}
    failed = [step.id for step in material.steps if step.status in ("failed", "unknown")]
    return "failed", {"code": "steps_failed", "message": f"failed: {', '.join(failed) or 'none could run'}"}
