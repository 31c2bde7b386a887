"""Outcome: the material of a reply, and the facts that follow from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Bound, Question, Stop
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.prompts import Prompts, shipped
from turnloom.tools.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The input of a reply."""

    agent: AgentProfile
    tools: Registry
    message: str
    steps: Sequence[StepResult]
    """In the plan's order."""
    now: datetime
    """In the user's time zone."""
    timeout_s: float
    """Time for all language-model calls together."""
    submitted: bool = False
    """Whether the caller submitted the plan. Then no language model is called."""
    stood_in: bool = False
    """Whether a playbook stood in for the language model's plan, so that nobody has understood the message."""
    confidence: float | None = None
    """The planner's confidence in its last revision, from 0 to 1."""
    stop: Stop | None = None
    """Why the work ended early; None if it did not. After a stop no language model is called either."""
    reply: str | None = None
    """The planner's own answer, if it saw nothing left to do."""
    bound: Bound | None = None
    """The limit that kept the turn from being planned again."""
    action: str | None = None
    synthesis_hint: str | None = None
    prompts: Prompts = field(default_factory=shipped)
    """The prompts, with the tenant's own texts."""
    user: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Exchange] = ()
    slots: Mapping[str, Any] = field(default_factory=dict)
    """Slots that the conversation has settled."""
    remembered: Sequence[RecalledResult] = ()
    """Results of earlier turns that still hold."""

    @property
    def is_direct(self) -> bool:
        """Whether there are no results, of this turn or an earlier one, to trace a figure to."""
        return not self.steps and not self.remembered

    def formatted(self) -> StepResult | None:
        """Return the last formatter step that succeeded, if any."""
        return next((step for step in reversed(self.steps) if self._is_formatter(step)), None)

    def succeeded(self) -> Iterator[StepResult]:
        """Yield the steps that succeeded and are not formatters."""
        return (step for step in self.steps if step.status == "succeeded" and not self._is_formatter(step))

    def results(self) -> dict[str, Any]:
        """Return the last result of each tool: this turn's if there is one, otherwise the newest remembered one."""
        remembered = {entry.tool: entry.result for entry in sorted(self.remembered, key=lambda entry: -entry.age_s)}
        return remembered | {step.tool: step.result for step in self.steps if step.status == "succeeded"}

    def question(self) -> Question | None:
        """Return the question that only the user can answer; None if no step asks for anything."""
        needs = {name: choices for step in self.steps for name, choices in (step.asks or {}).items()}
        choices = {name: options for name, options in needs.items() if isinstance(options, list)}
        return Question(fields=sorted(needs), choices=choices) if needs else None

    def _is_formatter(self, step: StepResult) -> bool:
        tool = self.tools.tools.get(step.tool)
        return step.status == "succeeded" and tool is not None and tool.formatter
