"""A virtual run executes a plan's steps in virtual time: each begins when it is ready, and lasts as long as recorded.

The rules are those of the ledger: needs, `run_if`, fallbacks, copies, `on_need_error`, `fail_fast`, the agent's cap and
the deadline. Nothing waits and nothing is called: `answer` gives the outcome of each call.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from turnloom.models.contracts.plan import FINAL_STEP_STATUSES, StepStatus
from turnloom.models.contracts.replay import StepRecord
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.errors import NotFound, ToolFailed
from turnloom.planner.plan.references import holds, resolve_args
from turnloom.tools.registry import Registry
from turnloom.workers.replay.tool_results import CallOutcome, PlannedCall

Columns = Mapping[str, Any]
"""A step as `workers.compiling` compiles it."""

DIVERGED = "diverged"
"""The status of a step whose call has no recorded result. The steps that need it do not run."""


@dataclass
class VirtualStep:
    """A step of a virtual run."""

    columns: Columns
    revision: int
    status: str = "pending"
    args: dict[str, Any] = field(default_factory=dict)
    """The arguments of its last call, with references filled in."""
    outcome: CallOutcome = field(default_factory=lambda: CallOutcome(status="pending"))

    @property
    def id(self) -> str:
        """Its id in the plan."""
        return str(self.columns["id"])

    @property
    def has_ended(self) -> bool:
        """Whether it is final."""
        return self.status in FINAL_STEP_STATUSES or self.status == DIVERGED

    def end(self, outcome: CallOutcome) -> None:
        """Give it its outcome."""
        self.status, self.outcome = outcome.status, outcome

    def result(self) -> StepResult:
        """Return it as planner and responder see it."""
        columns, outcome = self.columns, self.outcome
        is_asking = self.status == "needs_input"
        return StepResult(
            id=self.id,
            tool=columns["tool"],
            args=columns["args"],
            status=cast("StepStatus", self.status),
            result=None if is_asking else outcome.result,
            error=outcome.error,
            asks=(outcome.result or {}).get("needs") if is_asking else None,
            effect=columns["effect"],
            needs=columns["needs"],
            critical=columns["critical"],
            revision=self.revision,
        )

    def record(self) -> StepRecord:
        """Return it in the form in which steps are compared."""
        columns, outcome = self.columns, self.outcome
        return StepRecord(
            id=self.id,
            tool=columns["tool"],
            args=self.args or columns["args"],
            needs=[need for need in columns["needs"] if need != columns["copy_of"]],
            effect=columns["effect"],
            status=self.status,
            result=outcome.result,
            error=dict(outcome.error) if outcome.error else None,
            duration_ms=outcome.duration_ms,
            revision=self.revision,
            recorded=outcome.recorded,
        )


class VirtualRun:
    """The run of one turn's steps, over all revisions of its plan."""

    def __init__(
        self,
        tools: Registry,
        answer: Callable[[PlannedCall], CallOutcome | None],
        *,
        cap: int | None,
        on_error: str,
        deadline_ms: float,
    ) -> None:
        self.steps: dict[str, VirtualStep] = {}
        self.at_ms = 0.0
        """Virtual time since the turn was begun."""
        self.is_late = False
        """Whether its deadline passed before its steps had ended."""
        self._tools = tools
        self._answer = answer
        self._cap = cap
        self._on_error = on_error
        self._deadline_ms = deadline_ms
        self._running: list[tuple[float, int, str, CallOutcome]] = []

    def run(self, rows: Sequence[Columns], revision: int) -> None:
        """Run the steps of a revision until all have ended, or the deadline has passed."""
        for row in rows:
            self.steps[row["id"]] = VirtualStep(row, revision)
        self._end_impossible()
        while self._begin_ready() or self._running:
            at_ms, _, name, outcome = heapq.heappop(self._running)
            if at_ms > self._deadline_ms:
                self._stop_late()
                return
            self.at_ms = max(self.at_ms, at_ms)
            self.steps[name].end(outcome)
            self._end_impossible(self.steps[name])

    def records(self) -> list[StepRecord]:
        """Return the steps in the form in which they are compared."""
        return [step.record() for step in self.steps.values()]

    def results(self) -> dict[str, Any]:
        """Return the results of the steps that have succeeded."""
        return {name: step.outcome.result for name, step in self.steps.items() if step.status == "succeeded"}

    def _begin_ready(self) -> bool:
        """Begin the steps that are ready, in the order of the plan. Return whether any has begun."""
        ready = [step for step in self.steps.values() if step.status == "pending" and self._is_ready(step)]
        room = len(ready) if self._cap is None else max(0, self._cap - len(self._running))
        for step in ready[:room]:
            step.status = "running"
            outcome = self._outcome(step)
            place = list(self.steps).index(step.id)
            heapq.heappush(self._running, (self.at_ms + outcome.duration_ms, place, step.id, outcome))
        return bool(ready[:room])

    def _is_ready(self, step: VirtualStep) -> bool:
        return all(self.steps[need].has_ended for need in step.columns["needs"] if need in self.steps)

    def _outcome(self, step: VirtualStep) -> CallOutcome:
        columns, results = step.columns, self.results()
        inputs = {name: results[name] for name in columns["inputs"] if name in results}
        if columns["copy_of"] is not None:
            original = self.steps[columns["copy_of"]]
            step.args = original.args
            return replace(original.outcome, duration_ms=0.0)
        if columns["run_if"] is not None and not holds(columns["run_if"], inputs):
            return CallOutcome(status="skipped")
        outcome = self._called(step, columns["tool"], columns["args"], inputs)
        for fallback in columns["fallbacks"]:
            if outcome.status != "failed":
                break
            before_ms = outcome.duration_ms
            outcome = self._called(step, fallback["tool"], fallback["args"], inputs)
            outcome = replace(outcome, duration_ms=before_ms + outcome.duration_ms)
        return outcome

    def _called(self, step: VirtualStep, name: str, raw: Mapping[str, Any], inputs: Mapping[str, Any]) -> CallOutcome:
        try:
            args = resolve_args(raw, inputs)
            tool = self._tools.get(name)
        except LookupError as error:
            return failed("DEPENDENCY_FAILED", str(error))
        except (ToolFailed, NotFound) as error:
            return failed("BAD_ARGS" if isinstance(error, ToolFailed) else "NOT_FOUND", str(error))
        step.args = args
        outcome = self._answer(PlannedCall(step.id, tool, args))
        if outcome is None:
            return CallOutcome(status=DIVERGED)
        limit_ms = step.columns["timeout_ms"]
        if outcome.is_delayed and outcome.duration_ms > limit_ms:
            return replace(_overrun(step.columns, limit_ms), duration_ms=limit_ms)
        return outcome

    def _end_impossible(self, ended: VirtualStep | None = None) -> None:
        """End the steps that cannot run any more: those that need a failed one, or all of them after `fail_fast`."""
        if ended and ended.status == "failed" and ended.columns["critical"] and self._on_error == "fail_fast":
            message = "an earlier step failed and the turn stops at the first failure"
            self._end_pending(failed("CANCELLED", message, status="cancelled"))
        while self._end_round():
            pass

    def _end_round(self) -> bool:
        for step in self.steps.values():
            if step.status != "pending":
                continue
            original = self.steps.get(step.columns["copy_of"] or "")
            if original is not None and original.has_ended and original.status != "succeeded":
                step.end(replace(original.outcome, duration_ms=0.0))
                return True
            needs = [self.steps[need] for need in step.columns["needs"] if need in self.steps]
            is_vain = any(need.has_ended and need.status != "succeeded" for need in needs)
            if is_vain and (step.columns["on_need_error"] == "skip" or any(need.status == DIVERGED for need in needs)):
                step.end(failed("DEPENDENCY_FAILED", "a step that it needs did not succeed", status="skipped"))
                return True
        return False

    def _end_pending(self, outcome: CallOutcome) -> None:
        for step in self.steps.values():
            if step.status == "pending":
                step.end(outcome)

    def _stop_late(self) -> None:
        self.at_ms, self.is_late, self._running = self._deadline_ms, True, []
        for step in self.steps.values():
            if not step.has_ended:
                step.end(failed("CANCELLED", "the turn's deadline passed", status="cancelled"))


def failed(code: str, message: str, *, status: str = "failed") -> CallOutcome:
    """Return the outcome of a step that was not called, or failed."""
    return CallOutcome(status=status, error={"code": code, "message": message})


def _overrun(columns: Columns, limit_ms: int) -> CallOutcome:
    """Return the outcome of a call that lasts longer than it may. Whether a write took effect is not known then."""
    message = f"{columns['tool']} did not return within its {limit_ms} ms and was given up"
    return failed("TOOL_TIMEOUT", message, status="failed" if columns["effect"] == "read" else "unknown")
