"""Run steps: claim, act, record. The one executor of every placement.

A task brings a lane: steps that run one after another. The executor keeps up to `slots` lanes of its turn going at a
time. Whatever finished together is one commit, which also claims what became ready for the free slots; only the
surplus is published; when nothing of the plan is left, the turn is answered. What runs together wants the same queue.

Tools run in threads of their own, so that one that overruns its deadline can be given up.
"""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from uuid import UUID

import orjson
from celery import Task
from celery.exceptions import Ignore
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from models.crash_points import reach
from models.database import statement
from models.errors import NotFound, Unavailable
from models.ledger import steps
from models.ledger.recovery import LEASE_MS
from models.ledger.steps import Advance, ClaimedLane, ClaimedStep, FinishedStep, Holder, TurnFacts, Wanted
from models.logging import log
from models.redis import announce
from planner.graph import load_expression
from planner.references import holds, resolve_args
from tools import runner
from tools.context import ToolContext
from tools.registry import Tool
from workers import canvas, isolation, parking
from workers.app import app
from workers.callers import callers
from workers.dispatch import send
from workers.heartbeat import leases
from workers.hooking import noting
from workers.noting import note
from workers.outcomes import Outcome, Parked, ended, failed, given_up, unknown
from workers.parts import registry
from workers.remembering import through_memory
from workers.responding import respond

_GRACE_S = 0.25
"""A tool that keeps its deadline itself gets this long to say so."""
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
    holder = holder_of(self)
    try:
        with statement() as db:
            claim = steps.claim(db, UUID(turn_id), lanes, generation, holder)
    except Unavailable as error:
        log.warning("step.unclaimed", turn_id=turn_id, steps=lanes, error=error.code)
        raise Ignore from error
    if claim.verdict == "done":
        return
    if claim.turn is None:
        log.info("step.refused", turn_id=turn_id, steps=lanes, verdict=claim.verdict)
        raise Ignore
    announce(turn_id, claim.events)
    executor = Executor(UUID(turn_id), claim.turn, generation, queue, holder)
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
    give_up_at: float
    """On the monotonic clock."""


class Executor:
    """Works on one turn until nothing of it is left for this process."""

    def __init__(self, turn_id: UUID, turn: TurnFacts, generation: int, queue: str, holder: Holder) -> None:
        self._turn_id = turn_id
        self._turn = turn
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
        end = time.monotonic() + allowed_ms / 1000
        self._live[step.id] = _Call(list(lane.steps), step, end + _GRACE_S)
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
        outcome = parking.delay(self._turn_id, self._outcome(step, end))
        reach(f"{step.effect}.returned")
        self._outcomes.put(outcome)

    def _outcome(self, step: ClaimedStep, end: float) -> Outcome:
        if step.copy_of is not None:
            return FinishedStep(step.id, step.attempt, "succeeded", result=step.inputs[step.copy_of])
        if step.left_ms == 0 and not step.unsure:
            return failed(step, "CANCELLED", "the turn's deadline had passed before this step could start")
        if step.run_if is not None and not holds(step.run_if, step.inputs):
            return FinishedStep(step.id, step.attempt, "skipped")
        outcome = self._try(step, step.tool, step.args, end)
        for fallback in step.fallbacks:
            if not (isinstance(outcome, FinishedStep) and outcome.status == "failed"):
                break
            self._note_retry(step, 1, str((outcome.error or {}).get("code")), 0.0, fallback["tool"])
            outcome = self._try(step, fallback["tool"], fallback["args"], end)
        return outcome

    def _try(self, step: ClaimedStep, name: str, raw_args: dict[str, Any], end: float) -> Outcome:
        """Call the step's tool, or one of its fallbacks."""
        try:
            args = resolve_args(raw_args, step.inputs)
            tool = registry().get(name)
        except LookupError as error:
            return failed(step, "DEPENDENCY_FAILED", str(error))
        except NotFound as error:
            return failed(step, "NOT_FOUND", str(error))
        context = self._context(step, args, min(end, time.monotonic() + step.timeout_ms / 1000))
        if tool.requires_approval and (held := self._held(step, tool, args, context)) is not None:
            return held
        on_note = noting(self._turn_id, step.id)
        is_lost = step.unsure and tool.effect != "read"
        if is_lost and (earlier := runner.reconcile(tool, args, context, on_note)) is not None:
            return ended(step, earlier) if earlier.ok else unknown(step, earlier)
        call = partial(runner.run, tool, args, context, lambda *what: self._note_retry(step, *what), on_note)
        return through_memory(step, tool, args, context, call)

    def _held(self, step: ClaimedStep, tool: Tool, args: dict[str, Any], context: ToolContext) -> Outcome | None:
        """Return how a step ends, or waits, whose call may not be made; nobody is asked about what the tool refuses."""
        refused = runner.refusal(tool, args, context)
        return ended(step, refused) if refused else parking.ask(self._turn_id, step, tool, args)

    def _context(self, step: ClaimedStep, args: dict[str, Any], deadline: float) -> ToolContext:
        return ToolContext(
            tenant_id=self._turn.tenant_id,
            conversation_id=self._turn.conversation_id,
            turn_id=self._turn_id,
            step_id=step.id,
            attempt=step.attempt,
            idempotency_key=idempotency_key(self._turn_id, step.id, args),
            deadline=deadline,
            user=self._turn.person,
        )

    def _note_retry(
        self, step: ClaimedStep, tries: int, code: str, pause_s: float, fallback: str | None = None
    ) -> None:
        data = {"step": step.id, "tool": fallback or step.tool, "attempt": step.attempt, "try": tries, "code": code}
        note(self._turn_id, "step.retry", {**data, "pause_ms": round(pause_s * 1000)})

    def _finished(self) -> list[FinishedStep]:
        """Wait until something has come to an end or must be given up; return all that has finished."""
        wait_s = min(call.give_up_at for call in self._live.values()) - time.monotonic()
        done: dict[str, Outcome] = {}
        try:
            outcome = self._outcomes.get(timeout=max(0.0, wait_s))
            while True:
                done[outcome.id] = outcome
                outcome = self._outcomes.get_nowait()
        except Empty:
            now = time.monotonic()
        late = [call.step for call in self._live.values() if call.give_up_at <= now and call.step.id not in done]
        self.has_given_up |= bool(late)
        known = [outcome for name, outcome in done.items() if name in self._live]
        for outcome in known:
            if isinstance(outcome, Parked):
                self._let_go(outcome)
        return [each for each in known if isinstance(each, FinishedStep)] + [given_up(step) for step in late]

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


def idempotency_key(turn_id: UUID, step_id: str, args: dict[str, Any]) -> str:
    """Return the key of a call: the same for the same turn, step and arguments, whatever the attempt."""
    canonical = orjson.dumps(args, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(f"{turn_id}|{step_id}|".encode() + canonical).hexdigest()[:40]


def _rest(call: _Call) -> list[str]:
    return call.lane[call.lane.index(call.step.id) + 1 :]
