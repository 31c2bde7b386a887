"""Early steps are reads that start while the language model still writes their plan.

Steps are gathered for a moment. If the plan is complete by then, it starts as a whole. Otherwise one commit announces
the written steps and starts those that may start, each as its own fragment in the generation that the plan will have.
If the complete plan holds them all as they were started, its other steps are compiled with them; otherwise all of them
are dropped.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, NamedTuple

from turnloom.models.connections.database import statement
from turnloom.models.contracts.plan import Plan, Step
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import plans
from turnloom.models.ledger.plans import Begun, WrittenSteps
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.planner.plan.graph import Fragment, lane_of
from turnloom.tools.registry import Registry
from turnloom.workers.broker import canvas
from turnloom.workers.compiling import Columns, fragment_rows, node_of
from turnloom.workers.running.call_threads import callers
from turnloom.workers.turns.turn_events import committing

MOMENT_S = 0.03
"""How long a step waits for others, and for the end of its plan."""


class HeldSteps(NamedTuple):
    """The early steps of a turn as its plan holds them."""

    fragments: Sequence[Fragment] = ()
    """The fragments of the started steps."""
    begun: Begun = Begun()
    """The steps that the planner runs itself, and the events that have not been published yet."""

    @property
    def started(self) -> frozenset[str]:
        """The ids of the started steps."""
        return self.begun.ids.union(*(fragment.steps for fragment in self.fragments))


class EarlySteps:
    """The steps of a claimed turn that were written before its plan is complete.

    The planner's thread takes them and matches them with the plan; another thread starts them.
    """

    def __init__(
        self,
        turn: ClaimedTurn,
        tools: Registry,
        slots: int,
        max_parallel: int | None,
        start_soon: "Callable[[EarlySteps], None] | None" = None,
    ) -> None:
        """`start_soon`: has the waiting steps started, in a moment, unless a test says when."""
        self._turn = turn
        self._columns = Columns(tools)
        self._slots = slots
        self._max_parallel = max_parallel
        self._start_soon = start_soon or _start_soon
        self._lock = threading.RLock()
        self._waiting: list[WrittenStep] = []
        self._started: dict[str, Step] = {}
        self._fragments: list[Fragment] = []
        self._doubted: list[dict[str, Any]] = []
        """Events of steps whose start may have been lost."""
        self._last_event = turn.events[-1].seq
        self._may_start = True

    @property
    def has_waiting(self) -> bool:
        """Whether there is a step that has not been announced."""
        return bool(self._waiting)

    def take(self, written: WrittenStep) -> None:
        """Take a step. In a moment it is announced, and started if it may start early."""
        with self._lock:
            self._waiting.append(written)
            if len(self._waiting) == 1 and self._may_start:
                self._start_soon(self)

    def start_waiting(self) -> None:
        """Announce the waiting steps, and start those that may start early, in one commit."""
        with self._lock:
            if self._may_start and self._waiting:
                waiting, self._waiting = self._waiting, []
                self._start(waiting)

    def drop(self) -> None:
        """Cancel the started steps. No further step starts early.

        Raises:
            Unavailable: Postgres does not answer.
        """
        with self._lock:
            self._may_start = False
            self._doubted.clear()
            self._waiting.clear()
            if not self._started:
                return
            drop_early(self._turn)
            self._started.clear()
            self._fragments.clear()

    def held_by(self, plan: Plan) -> HeldSteps:
        """Return the started steps if the plan holds them all; otherwise drop them.

        Waiting steps start with the plan.

        Raises:
            Unavailable: Postgres does not answer.
        """
        held = {step.id: step for step in plan.steps}
        with self._lock:
            told = [*self._doubted, *map(written_event, self._waiting)]
            told = [event for event in told if event["data"]["step"] in held]
            self._doubted.clear()
            self._waiting.clear()
            if not self._may_start or any(held.get(name) != step for name, step in self._started.items()):
                self.drop()
            return HeldSteps(self._fragments, Begun(told=told))

    def _start(self, waiting: Sequence[WrittenStep]) -> None:
        first = len(self._fragments)
        rows = [self._columns.of(each.early, each.position) for each in waiting if each.early]
        self._started |= {each.early.id: each.early for each in waiting if each.early}
        self._fragments += map(_fragment, rows)
        written = WrittenSteps(
            told=[written_event(each) for each in waiting],
            steps=rows,
            fragments=fragment_rows(self._fragments[first:], first),
            max_parallel=self._max_parallel,
        )
        # Even if this fails, the ledger may hold them: so all are dropped in the end.
        self._may_start = False
        try:
            with committing(self._turn.id, "step.started_early") as committed, statement() as db:
                started = committed(plans.start_early(db, self._turn.id, self._turn.attempt, written))
        except Unavailable as error:
            log.warning("steps.not_started", turn_id=str(self._turn.id), error=error.code)
            self._doubted = plans.doubted(written.told, self._last_event)
            return
        if started is None:
            return
        self._may_start = True
        self._last_event = started.events[-1].seq
        if started.ready:
            ready = [self._fragments[number].expression for number in started.ready]
            canvas.publish(self._turn.id, self._turn.generation, ready, self._slots)


def drop_early(turn: ClaimedTurn) -> None:
    """Cancel the steps of a turn that were started early."""
    with committing(turn.id, "early_steps.dropped") as committed, statement() as db:
        committed(plans.drop_early(db, turn.id, turn.attempt) or [])


def _fragment(columns: dict[str, Any]) -> Fragment:
    lane = lane_of([node_of(columns, ())])
    return Fragment(tuple(columns["needs"]), lane.steps, lane, columns["inline"])


def written_event(written: WrittenStep) -> dict[str, Any]:
    """Return the event of a written step."""
    return {"type": "plan.step", "data": {"step": written.raw.get("id"), "tool": written.raw.get("tool")}}


def _start_soon(early: EarlySteps) -> None:
    """Start the waiting steps when their moment is over, unless their plan is complete by then."""
    _due().put((time.monotonic() + MOMENT_S, early))


@lru_cache
def _due() -> "SimpleQueue[tuple[float, EarlySteps]]":
    """Return the queue of early steps that wait for the end of their moment; a daemon serves it."""
    due: SimpleQueue[tuple[float, EarlySteps]] = SimpleQueue()

    def start_next() -> None:
        at, early = due.get()
        time.sleep(max(0.0, at - time.monotonic()))
        if early.has_waiting:
            callers.call(early.start_waiting)

    Daemon("early steps", start_next).start()
    return due


os.register_at_fork(after_in_child=_due.cache_clear)
