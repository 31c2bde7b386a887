"""The task that runs the lanes of a message, after a look at them or a claim."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from celery import Task
from celery.exceptions import Ignore

from turnloom.models.errors import Unavailable
from turnloom.models.ledger.step_batches import LookRequest
from turnloom.models.ledger.steps import StepClaim
from turnloom.models.runtime.logging import log
from turnloom.workers.broker.app import app
from turnloom.workers.execution import Executor
from turnloom.workers.running import step_commits
from turnloom.workers.running.step_call import only_reads
from turnloom.workers.upkeep.heartbeat import current_holder


@app.task(name="run_steps", bind=True, Request="turnloom.workers.running.isolation:StepRequest")
def run_steps(self: "Task[Any, Any]", turn_id: str, lanes: list[list[str]], generation: int, slots: int) -> None:
    """Run lanes. A refused copy ends with `Ignore`: returning would count as their end in a chord."""
    queue = str((self.request.delivery_info or {})["routing_key"])
    run_lanes(UUID(turn_id), lanes, generation, slots, queue)


def run_lanes(turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int, slots: int, queue: str) -> None:
    """Run lanes and the steps after them, as a task of this queue.

    Raises:
        Ignore: this process may not run them, or not now.
    """
    holder = current_holder()
    try:
        claim = _looked_at(turn_id, lanes, generation) if queue != "tools.cpu" else None
        if claim is None:
            claim = step_commits.claim(turn_id, lanes, generation, holder)
    except Unavailable as error:
        log.warning("step.unclaimed", turn_id=str(turn_id), steps=lanes, error=error.code)
        raise Ignore from error
    if claim.verdict == "done":
        return
    if claim.turn is None:
        log.info("step.refused", turn_id=str(turn_id), steps=lanes, verdict=claim.verdict)
        raise Ignore
    Executor(turn_id, claim.turn, generation, queue, holder).run(claim.lanes, slots, claim.at)


def _looked_at(turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int) -> StepClaim | None:
    """Return the next steps of lanes if they need no claim; None: they do."""
    looked = step_commits.look(LookRequest(turn_id, lanes, generation))
    return looked if looked and all(lane.step and only_reads(lane.step) for lane in looked.lanes) else None
