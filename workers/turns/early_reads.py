"""Early reads run in the planner's own threads while the language model still writes their plan.

They run under the turn's lease and fence, and enter the ledger with the plan, in one commit, each in its current state.
A change that is older than a moment is recorded earlier, by itself: then readers see it, and a turn that is stopped can
be answered from it. If the planner dies, its reads are lost: the turn is planned again, and they run again.

In: steps, as they are written.  Out: the steps that have begun, for the record of the plan, and the calls that still
run, for the executor.
"""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from queue import SimpleQueue
from typing import Any, Self

from turnloom.models.connections.database import statement
from turnloom.models.contracts.plan import Plan, Step
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import plans
from turnloom.models.ledger.plans import Begun
from turnloom.models.ledger.steps import ClaimedStep, FinishedStep, Holder, TurnFacts
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.tools.registry import Registry
from turnloom.workers.execution import Executor
from turnloom.workers.running import parking
from turnloom.workers.running.call_threads import callers
from turnloom.workers.running.outcomes import GRACE_S, Outcome, broken
from turnloom.workers.running.read_ahead import Ahead, LedgerTime
from turnloom.workers.running.running_call import RunningCall
from turnloom.workers.running.step_call import StepCalls
from turnloom.workers.turns.early_claims import EarlyClaims
from turnloom.workers.turns.early_steps import HeldSteps, drop_early, written_event
from turnloom.workers.turns.turn_events import committing

TELL_S = 0.08
"""How long a start or end may stay unrecorded: with the commit it is a tenth of a second."""
_MOST = 16
"""Most calls of one turn at the same time; further steps wait for the plan."""
_QUICK_S, _GATHER_MOST_S = 0.02, 0.1
"""The record of a plan waits the first time for a call that has just begun, and at most the second for all calls."""


class EarlyReads:
    """The reads of a claimed turn that its planner runs before the plan is complete.

    The planner's thread takes and holds them. The threads of the calls record how they end, and begin the steps that
    waited for that. `_changed` guards the state. `_committing` is held from reading the state until it is in the
    ledger, and is always taken first.
    """

    def __init__(
        self, turn: ClaimedTurn, tools: Registry, holder: Holder, most: int | None, done: Iterable[StepResult] = ()
    ) -> None:
        """`most`: the agent's cap on steps at a time. `done`: the steps of earlier revisions."""
        self._turn = turn
        self._holder = holder
        self._most = min(most or _MOST, _MOST)
        self._claims = EarlyClaims(turn, tools, done)
        facts = TurnFacts(turn.tenant_id, turn.conversation_id, turn.person, most is not None, turn.agent)
        self._step_calls = StepCalls(turn.id, facts)
        self._time = LedgerTime()
        self._time.hear(turn.at, turn.heard_at)
        self._changed = threading.Condition()
        self._committing = threading.Lock()
        self._steps: dict[str, Step] = {}
        """The steps as they were written, including those that wait for others."""
        self._ahead = Ahead()
        self._calls: dict[str, RunningCall] = {}
        self._ended: dict[str, FinishedStep] = {}
        self._recorded: dict[str, bool] = {}
        """The steps that the ledger knows -> whether as ended."""
        self._untold: list[dict[str, Any]] = []
        self._last_event = turn.events[-1].seq
        self._outcomes: SimpleQueue[tuple[Outcome, float]] = SimpleQueue()
        """Outcomes that came too late for the plan's record."""
        self._is_open = True
        self._is_telling = False
        self._is_dropped = False
        self._is_planned = False
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Abandon the calls that still run, unless an executor has them."""
        self._close()
        self._is_over.set()

    def take(self, written: WrittenStep) -> None:
        """Take a step, and begin it if it may begin before its plan is complete."""
        with self._changed:
            self._untold.append(written_event(written))
            if self._is_open and written.early is not None:
                self._accept(written.early, written.position)
            self._tell_soon()

    def drop(self) -> None:
        """Cancel the steps that have begun, because no plan holds them. No further step begins.

        Raises:
            Unavailable: Postgres does not answer.
        """
        self.keep()
        if self._calls and not self._is_dropped:
            drop_early(self._turn)
        self._is_dropped = True
        self._is_over.set()

    def keep(self) -> None:
        """Record the current state of the steps that have begun, because no plan will do so. No further step begins.

        Raises:
            Unavailable: Postgres does not answer.
        """
        self._close()
        with self._committing:
            self._record()

    def held_by(self, plan: Plan) -> HeldSteps:
        """Return the steps that have begun, for the record of the plan; if the plan does not hold them all, drop them.

        Raises:
            Unavailable: Postgres does not answer.
        """
        held = {step.id: step for step in plan.steps}
        with self._committing, self._changed:
            is_held = self._is_open and all(held.get(name) == self._steps[name] for name in self._calls)
            if is_held:
                self._gather()
                self._give_up()
                self._is_open = False
                return HeldSteps(begun=self._begun())
        self.drop()
        return HeldSteps()

    def hand_over(self, executor: Executor) -> None:
        """Hand the calls that still run to an executor; the ledger has their steps with the plan."""
        with self._changed:
            if not self._is_dropped:
                live = {name: call for name, call in self._calls.items() if name not in self._ended}
                executor.adopt(live, self._outcomes, self._time)
                self._is_planned = True
        self._is_over.set()

    def _close(self) -> None:
        with self._changed:
            self._is_open = False
            self._changed.notify_all()

    def _accept(self, step: Step, position: int) -> None:
        claimed = self._claims.claim(step, position, self._steps.keys() - self._ended.keys())
        if claimed is None:
            return
        self._steps[step.id] = step
        if claimed.waits:
            self._ahead.add(claimed)
        else:
            self._begin(claimed)

    def _begin(self, step: ClaimedStep) -> None:
        if len(self._calls) - len(self._ended) >= self._most:
            return  # it waits for the plan, and so do the steps that need it
        now = time.monotonic()
        end = now + step.limit_ms / 1000
        self._calls[step.id] = RunningCall([step.id], step, now, end + GRACE_S, is_told=True)
        callers.call(self._call, step, end)

    def _call(self, step: ClaimedStep, end: float) -> None:
        """Run the step in its own thread."""
        reach("read.begun_early")
        try:
            outcome = self._step_calls.outcome(step, end)
        except BaseException:  # noqa: BLE001 - otherwise nobody would notice, and the step would seem to run
            log.exception("step.broken", turn_id=str(self._turn.id), step_id=step.id)
            outcome = broken(step)
        ended_at = time.monotonic()
        reach("read.ended_early")
        if isinstance(outcome, FinishedStep) and "retry_at" not in (outcome.error or {}):
            self._hear(outcome, ended_at)
            return
        # A step to be parked seems to run until a plan holds it: before that it has no fence of its own.
        self._is_over.wait()
        if self._is_planned:
            self._outcomes.put((parking.delay(self._turn.id, step, outcome), ended_at))

    def _hear(self, outcome: FinishedStep, ended_at: float) -> None:
        """Take in the end of a call, and begin the steps that waited for its success."""
        with self._changed:
            if not self._is_open:
                self._outcomes.put((outcome, ended_at))
                return
            self._end(outcome, ended_at)
            self._claims.hear(outcome)
            for step in self._ahead.after(outcome) if outcome.status == "succeeded" else ():
                self._begin(step)
            self._tell_soon()
            self._changed.notify_all()

    def _end(self, outcome: FinishedStep, ended_at: float) -> None:
        began_at = self._time.of(self._calls[outcome.id].began_at)
        self._ended[outcome.id] = replace(outcome, began_at=began_at, ended_at=self._time.of(ended_at))

    def _gather(self) -> None:
        """Wait a moment for the calls that have just begun."""
        most = time.monotonic() + _GATHER_MOST_S
        while live := [call.began_at for name, call in self._calls.items() if name not in self._ended]:
            until = min(most, max(live) + _QUICK_S)
            if not self._changed.wait(max(0.0, until - time.monotonic())):
                return

    def _give_up(self) -> None:
        """End the calls that have overrun their time."""
        now = time.monotonic()
        for name, call in self._calls.items():
            if name not in self._ended and call.give_up_at <= now:
                self._end(call.give_up(), now)

    def _begun(self) -> Begun:
        """Return the state that the ledger does not know yet, to record it now."""
        changed = [name for name in self._calls if self._recorded.get(name) is not (name in self._ended)]
        self._untold, untold = [], self._untold
        return Begun(
            steps=[self._row(name) for name in changed],
            told=untold,
            known=[name for name in self._calls if name not in changed],
            running=len(self._calls) - len(self._ended),
        )

    def _row(self, name: str) -> dict[str, Any]:
        call, ended = self._calls[name], self._ended.get(name)
        running = {"status": "running", "attempt": call.step.attempt, "began_at": self._time.of(call.began_at)}
        return {**self._claims.rows[name], **(asdict(ended) if ended else running)}

    def _tell_soon(self) -> None:
        if self._is_open and not self._is_telling:
            self._is_telling = True
            callers.call(self._tell)

    def _tell(self) -> None:
        """Record the changes in a moment, unless the plan is complete by then."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_open, TELL_S)
            self._is_telling = False
        with self._committing:
            if self._is_open:
                with suppress(Unavailable):
                    self._record()

    def _record(self) -> None:
        with self._changed:
            begun = self._begun()
        if not (begun.steps or begun.told):
            return
        try:
            with committing(self._turn.id, "reads.kept") as committed, statement() as db:
                told = committed(plans.keep_begun(db, self._turn.id, self._turn.attempt, begun, self._holder) or [])
        except Unavailable as error:
            log.warning("reads.not_kept", turn_id=str(self._turn.id), error=error.code)
            with self._changed:
                self._untold[:0] = plans.doubted(begun.told, self._last_event)
            raise
        with self._changed:
            self._recorded |= {step["id"]: step["status"] != "running" for step in begun.steps}
            self._last_event = told[-1].seq if told else self._last_event
