"""The executor runs steps of every placement: claim, act, record.

A task brings lanes: steps that run one after another. The executor runs up to `slots` lanes of its turn at the same
time, all from one queue. Reads that a task brings are only looked at, and claimed when they have run for a moment;
other steps are claimed before they run. Reads are taken together, and each begins when those before it have succeeded:
the ledger learns of it afterwards. Steps that finish together share one commit, which also claims ready steps for the
free slots; only the surplus is published. When no step is left, the turn is answered. Each tool runs in its own thread,
so that a call that overruns its deadline can be given up.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from uuid import UUID

from celery.exceptions import Ignore

from turnloom.models.contracts.material import Material
from turnloom.models.ledger.step_batches import AdvanceRequest
from turnloom.models.ledger.steps import (
    Advance,
    BegunStep,
    Capacity,
    ClaimedLane,
    ClaimedStep,
    FinishedStep,
    Handover,
    Holder,
    TurnFacts,
)
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.planner.plan.expressions import load_expression
from turnloom.workers.broker import canvas
from turnloom.workers.dispatch import send
from turnloom.workers.responding import respond
from turnloom.workers.running import isolation, parking, step_commits
from turnloom.workers.running.call_threads import callers
from turnloom.workers.running.commit_retry import persist
from turnloom.workers.running.outcomes import GRACE_S, Outcome, Parked, broken
from turnloom.workers.running.read_ahead import Ahead, LedgerTime
from turnloom.workers.running.running_call import GATHER_MOST_S, RunningCall, may_join_until
from turnloom.workers.running.step_call import StepCalls
from turnloom.workers.turns.turn_events import committing
from turnloom.workers.upkeep.heartbeat import leases


class Executor:
    """The work of this process on one turn, until nothing is left for it."""

    def __init__(self, turn_id: UUID, turn: TurnFacts, generation: int, queue: str, holder: Holder) -> None:
        self._turn_id = turn_id
        self._turn = turn
        self._step_calls = StepCalls(turn_id, turn)
        self._generation = generation
        self._queue = queue
        self._holder = holder
        self._live: dict[str, RunningCall] = {}
        self._ahead = Ahead()
        self._later: list[list[str]] = []
        """Lanes whose next step cannot be claimed yet."""
        self._outcomes: SimpleQueue[tuple[Outcome, float]] = SimpleQueue()
        self._own: set[str] = set()
        self._time = LedgerTime()
        self._is_troubled = False
        self._is_parked = False
        self._is_elsewhere = False
        self._has_given_up = False

    def adopt(
        self, calls: Mapping[str, RunningCall], outcomes: "SimpleQueue[tuple[Outcome, float]]", clock: LedgerTime
    ) -> None:
        """Take over calls that the turn's planner has begun, and whose steps the ledger holds as running."""
        self._live, self._outcomes, self._time = dict(calls), outcomes, clock
        for call in calls.values():
            leases.hold_step(self._turn_id, call.step.id, call.step.attempt)

    def run(self, lanes: Sequence[ClaimedLane], slots: int, at: float) -> None:
        """Run claimed lanes and the steps after them, up to `slots` lanes at once. `at`: when they were claimed.

        Raises:
            Ignore: an outcome could not be recorded, or one of these lanes was parked. Recovery continues.
        """
        self._own = {step for lane in lanes for step in lane.steps}
        self._time.hear(at)
        try:
            self._take(lanes)
            self._go_on(slots)
        finally:
            # However the work ended, leases must not outlive it.
            self._release([call.step for call in self._live.values()])
            left = self._ahead.give_back()
            self._release(left)
            if self._has_given_up:
                isolation.end_process()
        not_done = [step.id for step in left] + [step for lane in self._later for step in lane]
        if self._is_parked or self._is_elsewhere or not self._own.isdisjoint(not_done):
            raise Ignore

    def _go_on(self, slots: int) -> None:
        while self._live:
            finished = self._finished()
            back = self._ahead.give_back() if self._is_troubled else []
            if not finished and not back:
                # There was a parked step, the late outcome of a call that was given up, or nothing for a while.
                if any(call.claim_at <= time.monotonic() for call in self._live.values()):
                    self._claim_running(slots)
                continue
            self._is_troubled = False
            advance = self._record(finished, back, slots)
            if back and advance.generation != self._generation:
                send("resume", self._turn_id, queue="maintenance")  # no fragment of this generation holds these steps
            self._pursue(advance, slots)
            if advance.respond is not None:
                reach("reply.due")
                self._respond(advance.respond, advance.material)

    def _pursue(self, advance: Advance, slots: int) -> None:
        """Begin the claimed steps, then publish those for others, then claim those that need their own commit."""
        self._take([lane for lane in advance.claimed if lane.step])
        canvas.publish(self._turn_id, advance.generation, map(load_expression, advance.fragments), slots)
        self._take([lane for lane in advance.claimed if not lane.step])

    def _take(self, lanes: Sequence[ClaimedLane]) -> None:
        for lane in lanes:
            has_effect = lane.effect not in (None, "read")
            step = lane.step or (self._claim(lane.steps) if has_effect else None)
            if step is None:
                self._later.append(lane.steps)
                continue
            self._hold(step)
            if step.waits:
                self._ahead.add(step)
            else:
                self._start(step, lane.steps, is_told=step.attempt > 0)

    def _start(self, step: ClaimedStep, lane: list[str], *, is_told: bool) -> None:
        if step.attempt:
            reach(f"{step.effect}.claimed")
        else:
            reach("read.looked_at")
        now = time.monotonic()
        end = now + step.limit_ms / 1000
        self._live[step.id] = RunningCall(lane, step, now, end + GRACE_S, is_told)
        callers.call(self._call, step, end)

    def _claim(self, lane: Sequence[str]) -> ClaimedStep | None:
        """Claim a step with an effect in its own commit, before it acts."""
        claiming = partial(step_commits.claim, self._turn_id, [lane], self._generation, self._holder)
        claim = persist(self._turn_id, lane, claiming)
        self._time.hear(claim.at)
        return claim.lanes[0].step if claim.lanes else None

    def _call(self, step: ClaimedStep, end: float) -> None:
        """Run the step in its own thread."""
        try:
            outcome = self._step_calls.outcome(step, end)
            if step.attempt:
                outcome = parking.delay(self._turn_id, step, outcome)
        except BaseException:  # noqa: BLE001 - otherwise nobody would notice, and the step would seem to run
            log.exception("step.broken", turn_id=str(self._turn_id), step_id=step.id)
            outcome = broken(step)
        reach(f"{step.effect}.returned")
        self._outcomes.put((outcome, time.monotonic()))

    def _finished(self) -> list[FinishedStep]:
        """Wait until a call has ended or must be given up; return all finished steps.

        Steps that waited for them have begun by then.
        """
        wait_s = min(min(call.give_up_at, call.claim_at) for call in self._live.values()) - time.monotonic()
        done: dict[str, Outcome] = {}
        try:
            outcome, ended_at = self._outcomes.get(timeout=max(0.0, wait_s))
            until, most = self._awaited(outcome, ended_at), ended_at + GATHER_MOST_S
            while True:
                done[outcome.id] = outcome
                self._hear(outcome, ended_at)
                others = may_join_until(call for name, call in self._live.items() if name not in done)
                patience_s = min(until, others) - time.monotonic()
                outcome, ended_at = self._outcomes.get(timeout=max(0.0, patience_s))
                until = min(max(until, self._awaited(outcome, ended_at)), most)
        except Empty:
            now = time.monotonic()
        late = [call for call in self._live.values() if call.give_up_at <= now and call.step.id not in done]
        for call in late:
            call.ended_at = now
            self._has_given_up = self._is_troubled = True
        known = [self._delayed(outcome) for name, outcome in done.items() if name in self._live]
        for outcome in known:
            if isinstance(outcome, Parked) and outcome.id in self._live:
                self._let_go(outcome)
        finished = [each for each in known if isinstance(each, FinishedStep)] + [call.give_up() for call in late]
        return [each for each in finished if each.id in self._live]

    def _awaited(self, outcome: Outcome, ended_at: float) -> float:
        """Return until when to wait for other outcomes, to record them together with this one."""
        call = self._live.get(outcome.id)
        return ended_at if call is None else call.gathers_until(ended_at)

    def _hear(self, outcome: Outcome, ended_at: float) -> None:
        """Take in the end of a call, and begin the steps that waited for its success."""
        call = self._live.get(outcome.id)
        if call is None:
            return
        call.ended_at = ended_at
        if not isinstance(outcome, FinishedStep) or outcome.status != "succeeded":
            self._is_troubled = True
        elif not self._is_troubled:
            for step in self._ahead.after(outcome):
                self._start(step, [step.id], is_told=False)

    def _delayed(self, outcome: Outcome) -> Outcome:
        """Park a step that began without a claim and must be tried again later. Parking needs a claim."""
        if outcome.attempt or not parking.is_due(outcome):
            return outcome
        self._claim_running(1)
        call = self._live.get(outcome.id)
        if call is None:
            return Parked(outcome.id, 0)
        return parking.delay(self._turn_id, call.step, replace(outcome, attempt=call.step.attempt))

    def _claim_running(self, slots: int) -> None:
        """Claim the reads that began without a claim and still run: from now on they have leases."""
        self._pursue(self._advance(Handover(begun=self._begun()), Capacity(self._queue, 0)), slots)
        reach("read.claimed_late")

    def _let_go(self, parked: Parked) -> None:
        """Drop the rest of a parked step's lane. If our message brought it, the message must not count as done.

        Under a cap its place becomes free, but none of our commits hands it on.
        """
        self._release([self._live.pop(parked.id).step])
        self._is_parked |= parked.id in self._own
        if self._turn.is_capped:
            send("resume", self._turn_id, queue="maintenance")

    def _record(self, finished: list[FinishedStep], back: list[ClaimedStep], slots: int) -> Advance:
        """Record the steps that finished and began, give back those that will not begin, and claim the next ones."""
        calls = {step.id: self._live.pop(step.id) for step in finished}
        rests = [rest for call in calls.values() if (rest := call.rest())]
        lanes = rests + self._later + [[step.id] for step in back]
        self._later = []
        # All waiting steps may begin at the same time.
        free = 0 if isolation.is_child() else max(0, slots - len(self._live) - len(self._ahead) - len(rests))
        ended = [calls[step.id].timed(step, self._time) for step in finished]
        handover = Handover(ended, self._begun(), [step.id for step in back], lanes)
        try:
            return self._advance(handover, Capacity(self._queue, free, mixed=slots == 1))
        finally:
            self._release([*(call.step for call in calls.values()), *back])

    def _begun(self) -> list[BegunStep]:
        """Return the calls whose start the ledger does not know."""
        return [
            BegunStep(name, call.step.attempt, self._time.of(call.began_at))
            for name, call in self._live.items()
            if not call.is_told
        ]

    def _advance(self, handover: Handover, capacity: Capacity) -> Advance:
        """Commit the steps that ended and began, and announce it."""
        names = [*(step.id for step in handover.finished), *(step.id for step in handover.begun)]
        asked = AdvanceRequest(self._turn_id, self._generation, handover, capacity, self._holder)
        with committing(self._turn_id, "steps.recorded") as committed:
            advanced = committed(persist(self._turn_id, names, partial(step_commits.advance, asked)))
        self._time.hear(advanced.at)
        self._is_elsewhere |= advanced.are_elsewhere
        if advanced.fenced:
            self._is_troubled = True
            log.warning("step.fenced", turn_id=str(self._turn_id), steps=advanced.fenced)
        for name in advanced.fenced:
            self._live.pop(name, None)
        for call in self._live.values():
            call.is_told = True
            if not call.step.attempt:
                call.step = replace(call.step, attempt=1)
                self._hold(call.step)
        return advanced

    def _hold(self, step: ClaimedStep) -> None:
        if step.attempt:
            leases.hold_step(self._turn_id, step.id, step.attempt)

    def _release(self, claimed: Sequence[ClaimedStep]) -> None:
        for step in claimed:
            leases.release_step(self._turn_id, step.id, step.attempt)

    def _respond(self, attempt: int, material: Material | None) -> None:
        """Answer the turn here, unless the processes of this queue are reserved for other work."""
        if self._queue == "tools.cpu":
            send("respond", self._turn_id, attempt, queue="respond")
        else:
            respond(self._turn_id, attempt, material)
