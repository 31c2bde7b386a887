"""Start steps that only read while the language model still writes the plan that they are of.

Each becomes a fragment of its own in the generation that the plan will have. When the plan is whole and holds them all
as they were started, the rest of it is compiled over them; otherwise all of them are dropped.
"""

from models.contracts.plan import Plan, Step
from models.crash_points import reach
from models.database import statement
from models.errors import Unavailable
from models.ledger import plans
from models.ledger.turns import ClaimedTurn
from models.logging import log
from models.redis import announce
from planner.expressions import Lane
from planner.graph import Fragment
from planner.streaming import WrittenStep
from tools.registry import Registry
from workers import canvas
from workers.compiling import Columns, fragment_rows, limit_ms
from workers.noting import note


class EarlySteps:
    """The steps of a claimed turn that have started before its plan is whole."""

    def __init__(self, turn: ClaimedTurn, tools: Registry, slots: int, max_parallel: int | None) -> None:
        self._turn = turn
        self._columns = Columns(tools)
        self._slots = slots
        self._max_parallel = max_parallel
        self._started: dict[str, Step] = {}
        self._fragments: list[Fragment] = []
        self._may_start = True

    def take(self, written: WrittenStep) -> None:
        """Tell the turn's readers of a step, and start it if it may start early."""
        if written.early is not None and self._may_start:
            self._start(written.early, written.position)
        else:
            note(self._turn.id, "plan.step", {"step": written.raw.get("id"), "tool": written.raw.get("tool")})

    def refuse(self) -> None:
        """Hear that the plan which these steps are of is refused: cancel them while another one is asked for."""
        try:
            self.drop()
        except Unavailable as error:  # they are dropped before the other plan is recorded
            log.warning("early_steps.not_dropped", turn_id=str(self._turn.id), error=error.code)

    def drop(self) -> None:
        """Cancel what was started; nothing starts early any more.

        Raises:
            Unavailable: Postgres does not answer.
        """
        self._may_start = False
        if not self._started:
            return
        with statement() as db:
            dropped = plans.drop_early(db, self._turn.id, self._turn.attempt)
        self._started.clear()
        self._fragments.clear()
        reach("early_steps.dropped")
        announce(self._turn.id, dropped or [])

    def held_by(self, plan: Plan) -> list[Fragment]:
        """Return the fragments of the steps that were started, all of which the plan holds; if it does not, drop them.

        Raises:
            Unavailable: Postgres does not answer.
        """
        held = {step.id: step for step in plan.steps}
        if not self._may_start or any(held.get(name) != step for name, step in self._started.items()):
            self.drop()
        return self._fragments

    def _start(self, step: Step, position: int) -> None:
        columns = self._columns.of(step, position)
        lane = Lane((step.id,), columns["queue"], step.tool, limit_ms=limit_ms(columns))
        fragment = Fragment(tuple(columns["needs"]), lane.steps, lane, columns["inline"])
        (row,) = fragment_rows([fragment], len(self._fragments))
        self._started[step.id] = step
        self._fragments.append(fragment)
        try:
            with statement() as db:
                started = plans.start_early(db, self._turn.id, self._turn.attempt, columns, row, self._max_parallel)
        except Unavailable as error:
            # It may stand in the ledger all the same: so all are dropped in the end.
            log.warning("step.not_started", turn_id=str(self._turn.id), step_id=step.id, error=error.code)
            started = None
        if started is None:
            self._may_start = False
            return
        reach("step.started_early")
        announce(self._turn.id, started.events)
        if started.ready:
            ready = [self._fragments[number].expression for number in started.ready]
            canvas.publish(self._turn.id, self._turn.generation, ready, self._slots)
