"""Early claims let a planner run some steps itself before their plan is complete."""

import time
from collections.abc import Container, Iterable, Mapping
from typing import Any

import orjson

from turnloom.models.contracts.plan import Step
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.ledger.steps import ClaimedStep, FinishedStep
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.tools.registry import Registry
from turnloom.workers.compiling import Columns

QUEUE = "tools.io"


class EarlyClaims:
    """The claims of steps that only their turn's planner knows of; they hold as long as its own."""

    def __init__(self, turn: ClaimedTurn, tools: Registry, done: Iterable[StepResult]) -> None:
        """`done`: the steps of earlier revisions."""
        self._turn = turn
        self._tools = tools
        self._columns = Columns(tools)
        self._results: dict[str, Any] = {step.id: step.result for step in done if step.status == "succeeded"}
        self.rows: dict[str, dict[str, Any]] = {}
        """The columns of the claimed steps."""

    def claim(self, step: Step, position: int, open_steps: Container[str]) -> ClaimedStep | None:
        """Claim a read-only step. It waits for its needs that are open.

        None: it must run in its own process, or needs a step that waits for the plan.
        """
        columns = self._columns.of(step, position)
        waits = [need for need in columns["needs"] if need not in self._results]
        if not self._runs_here(step) or any(need not in open_steps for need in waits):
            return None
        self.rows[step.id] = columns
        return self._claimed(step, columns, waits)

    def hear(self, outcome: FinishedStep) -> None:
        """Take in the result of a step, for those that need it."""
        if outcome.status == "succeeded":
            self._results[outcome.id] = outcome.result

    def _runs_here(self, step: Step) -> bool:
        names = [step.tool, *(fallback.tool for fallback in step.fallbacks)]
        return all(self._tools.get(name).queue == QUEUE for name in names)

    def _claimed(self, step: Step, columns: Mapping[str, Any], waits: list[str]) -> ClaimedStep:
        # Copies: a tool that changes its arguments must not change the recorded result.
        ended = {name: self._results[name] for name in columns["needs"] if name not in waits}
        return ClaimedStep(
            id=step.id,
            tool=step.tool,
            attempt=self._turn.early_attempt,
            args=step.args,
            timeout_ms=columns["timeout_ms"],
            effect="read",
            run_if=step.run_if,
            fallbacks=columns["fallbacks"],
            copy_of=columns["copy_of"],
            unsure=False,
            left_ms=max(0, self._turn.left_ms - round((time.monotonic() - self._turn.heard_at) * 1000)),
            inputs=orjson.loads(orjson.dumps(ended)),
            waits=waits,
            has_rivals=False,
        )
