"""Run steps: claim, act, record. The one executor of every placement.

A task brings a lane: steps that run one after another. The executor keeps up to `slots` lanes of its turn going at a
time. Whatever finished together is one commit, which also claims what became ready for the free slots; only the
surplus is published; when nothing of the plan is left, the turn is answered. What runs together wants the same queue.

Tools run in threads of their own, so that one that overruns its deadline can be given up.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any
from uuid import UUID

from celery import Task
from celery.exceptions import Ignore
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from models.crash_points import reach
from models.database import statement
from models.errors import Unavailable
from models.ledger import steps
from models.ledger.recovery import LEASE_MS
from models.ledger.steps import Advance, ClaimedLane, ClaimedStep, FinishedStep, Holder, TurnFacts, Wanted
from models.logging import log
from models.redis import announce
from planner.graph import load_expression
from workers import canvas, isolation, parking
from workers.app import app
from workers.callers import callers
from workers.calling import Calling
from workers.dispatch import send
from workers.heartbeat import leases
from workers.metrics import count_given_up
from workers.outcomes import GRACE_S, Outcome, Parked, given_up
from workers.responding import respond

_QUICK_S, _GATHER_S = 0.02, 0.003
"""What ends within the first waits as long as the second for others, so that they are recorded together."""
_RECORDING_S = 30.0
"""How long an outcome is held while Postgres is out."""
_until_recorded = Retrying(
    retry=retry_if_exception_type(Unavailable),
    stop=stop_after_delay(_RECORDING_S),
    wait=wait_random_exponential(multiplier=0.1, max=2),
    reraise=True,
)


@app.task(name="run_steps", bind=True, Request="workers.isolation:StepRequest")
def run_steps(self: "Task[Any, Any]", turn_id: str, lanes: list[list[str]], generation: int, slots: int) -> None:
    """Run lanes. A refused copy is ignored: returning would count as their end in a chord."""
    queue = str((self.request.delivery_info or {})["routing_key"])
    run_lanes(UUID(turn_id), lanes, generation, slots, queue, holder_of(self))


def run_lanes(
    turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int, slots: int, queue: str, holder: Holder
) -> None:
    """Run lanes and what follows from them, as a task of this queue.

    Raises:
        Ignore: they are not ours to run, or not now.
    """
    try:
        with statement() as db:
            claim = steps.claim(db, turn_id, lanes, generation, holder)
    except Unavailable as error:
        log.warning("step.unclaimed", turn_id=str(turn_id), steps=lanes, error=error.code)
        raise Ignore from error
    if claim.verdict == "done":
        return
    if claim.turn is None:
        log.info("step.refused", turn_id=str(turn_id), steps=lanes, verdict=claim.verdict)
        raise Ignore
    announce(turn_id, claim.events)
    executor = Executor(turn_id, claim.turn, generation, queue, holder)
    try:
        executor.run(claim.lanes, slots)
    finally:
        if executor.has_given_up:
            isolation.end_process()


def holder_of(task: "Task[Any, Any]") -> Holder:
    """Return who runs this task: the worker's name and the process."""
    return Holder(f"{task.request.hostname}/{os.getpid()}", LEASE_MS)


@dataclass
class _Call:
    """A tool call that is under way."""

    lane: list[str]
    step: ClaimedStep
    began_at: float
    """On the monotonic clock, like the next."""
    give_up_at: float


class Executor:
    """Works on one turn until nothing of it is left for this process."""

    def __init__(self, turn_id: UUID, turn: TurnFacts, generation: int, queue: str, holder: Holder) -> None:
        self._turn_id = turn_id
        self._turn = turn
        self._calling = Calling(turn_id, turn)
        self._generation = generation
        self._queue = queue
        self._holder = holder
        self._live: dict[str, _Call] = {}
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._own: set[str] = set()
        self._is_parked = False
        self.has_given_up = False

    def run(self, lanes: Sequence[ClaimedLane], slots: int) -> None:
        """Run claimed lanes and what follows from them, up to `slots` lanes at a time.

        Raises:
            Ignore: an outcome could not be recorded, or one of these lanes was parked; the ledger knows how to go on.
        """
        self._own = {step for lane in lanes for step in lane.steps}
        try:
            for lane in lanes:
                self._start(lane)
            self._go_on(slots)
        finally:
            # Whatever broke off here, nobody may keep alive what nobody works on.
            for call in self._live.values():
                leases.release_step(self._turn_id, call.step.id, call.step.attempt)
        if self._is_parked:
            raise Ignore

    def _go_on(self, slots: int) -> None:
        while self._live:
            finished = self._finished()
            if not finished:
                continue  # what came was a parked step, or the late outcome of a call that had been given up
            rests = [rest for step in finished if (rest := _rest(self._live.pop(step.id)))]
            free = 0 if isolation.is_child() else max(0, slots - len(self._live) - len(rests))
            advance = self._record(finished, Wanted(rests, self._queue, free, mixed=slots == 1))
            reach("steps.recorded")
            announce(self._turn_id, advance.events)
            if advance.fenced:
                log.warning("step.fenced", turn_id=str(self._turn_id), steps=advance.fenced)
            for claimed in advance.claimed:
                self._start(claimed)
            canvas.publish(self._turn_id, advance.generation, map(load_expression, advance.fragments), slots)
            if advance.respond is not None:
                reach("reply.due")
                self._respond(advance.respond)

    def _start(self, lane: ClaimedLane) -> None:
        step = lane.step or self._claim(lane.steps)
        if step is None:
            return
        reach(f"{step.effect}.claimed")
        allowed_ms = min(step.timeout_ms * (1 + len(step.fallbacks)), step.left_ms)
        now = time.monotonic()
        end = now + allowed_ms / 1000
        self._live[step.id] = _Call(list(lane.steps), step, now, end + GRACE_S)
        leases.hold_step(self._turn_id, step.id, step.attempt)
        callers.call(self._call, step, end)

    def _claim(self, lane: Sequence[str]) -> ClaimedStep | None:
        """Claim a step that has an effect: in a commit of its own, before it acts."""
        with statement() as db:
            claim = steps.claim(db, self._turn_id, [lane], self._generation, self._holder)
        announce(self._turn_id, claim.events)
        return claim.lanes[0].step if claim.lanes else None

    def _call(self, step: ClaimedStep, end: float) -> None:
        """Run the step, in a thread of its own."""
        outcome = parking.delay(self._turn_id, self._calling.outcome(step, end))
        reach(f"{step.effect}.returned")
        self._outcomes.put(outcome)

    def _finished(self) -> list[FinishedStep]:
        """Wait until something has come to an end or must be given up; return all that has finished."""
        wait_s = min(call.give_up_at for call in self._live.values()) - time.monotonic()
        done: dict[str, Outcome] = {}
        try:
            outcome = self._outcomes.get(timeout=max(0.0, wait_s))
            until = self._gather_until(outcome)
            while True:
                done[outcome.id] = outcome
                patience_s = until - time.monotonic() if len(done) < len(self._live) else 0.0
                outcome = self._outcomes.get(timeout=max(0.0, patience_s))
        except Empty:
            now = time.monotonic()
        late = [call.step for call in self._live.values() if call.give_up_at <= now and call.step.id not in done]
        self.has_given_up |= bool(late)
        known = [outcome for name, outcome in done.items() if name in self._live]
        for outcome in known:
            if isinstance(outcome, Parked):
                self._let_go(outcome)
        return [each for each in known if isinstance(each, FinishedStep)] + [_given_up(step) for step in late]

    def _gather_until(self, first: Outcome) -> float:
        """Return until when others may join the first: where it came at once they often do, and one commit will do."""
        now = time.monotonic()
        call = self._live.get(first.id)
        return now + _GATHER_S if call and now - call.began_at < _QUICK_S else now

    def _let_go(self, parked: Parked) -> None:
        """Drop the rest of a parked step's lane. Where our message brought it, the message must not count as done.

        Under a cap its place is free, but no commit of ours hands it on.
        """
        del self._live[parked.id]
        leases.release_step(self._turn_id, parked.id, parked.attempt)
        self._is_parked |= parked.id in self._own
        if self._turn.is_capped:
            send("resume", self._turn_id, queue="maintenance")

    def _record(self, finished: list[FinishedStep], wanted: Wanted) -> Advance:
        try:
            return _until_recorded(self._advance, finished, wanted)
        except Unavailable as error:
            log.error("step.unrecorded", turn_id=str(self._turn_id), steps=[step.id for step in finished])
            raise Ignore from error
        finally:
            for step in finished:
                leases.release_step(self._turn_id, step.id, step.attempt)

    def _advance(self, finished: list[FinishedStep], wanted: Wanted) -> Advance:
        with statement() as db:
            return steps.advance(db, self._turn_id, self._generation, finished, wanted, self._holder)

    def _respond(self, attempt: int) -> None:
        """Answer the turn here, unless this queue's processes are kept for other work."""
        if self._queue == "tools.cpu":
            send("respond", self._turn_id, attempt, queue="respond")
        else:
            respond(self._turn_id, attempt)


def _given_up(step: ClaimedStep) -> FinishedStep:
    outcome = given_up(step)
    count_given_up(step.tool, outcome, step.timeout_ms / 1000)
    return outcome


def _rest(call: _Call) -> list[str]:
    return call.lane[call.lane.index(call.step.id) + 1 :]
