"""Outcome: what there is to reply from, and what can be read off it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.contracts.turn import Bound, Question, Stop
from planner.agents import AgentProfile
from planner.context import Exchange
from planner.prompts import Prompts, shipped
from planner.results import Remembered, StepOutcome
from tools.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The input of a reply."""

    agent: AgentProfile
    tools: Registry
    message: str
    steps: Sequence[StepOutcome]
    """In the plan's order."""
    now: datetime
    """In the user's time zone."""
    timeout_s: float
    """Time for the calls of the language model."""
    submitted: bool = False
    """Whether the plan was the caller's own: then no language model is called."""
    stood_in: bool = False
    """Whether a playbook stood in for the language model's plan, so that nobody has understood the message."""
    confidence: float | None = None
    """How sure the planner is of its last revision."""
    stop: Stop | None = None
    """Why the work ended before it was done: then no language model is called either."""
    reply: str | None = None
    """The planner's own answer, where it had nothing left to do."""
    bound: Bound | None = None
    """What kept the turn from being planned again."""
    action: str | None = None
    synthesis_hint: str | None = None
    prompts: Prompts = field(default_factory=shipped)
    """As the tenant has them."""
    user: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Exchange] = ()
    slots: Mapping[str, Any] = field(default_factory=dict)
    """What the conversation has settled."""
    remembered: Sequence[Remembered] = ()
    """Results of earlier turns that still hold."""

    @property
    def is_direct(self) -> bool:
        """Whether nothing was looked up for it, now or before: then there is nothing to trace a figure to."""
        return not self.steps and not self.remembered

    def formatted(self) -> StepOutcome | None:
        """Return the last formatter that succeeded."""
        return next((step for step in reversed(self.steps) if self._is_formatter(step)), None)

    def succeeded(self) -> Iterator[StepOutcome]:
        """Yield the steps that succeeded and are no formatters."""
        return (step for step in self.steps if step.status == "succeeded" and not self._is_formatter(step))

    def results(self) -> dict[str, Any]:
        """Return the last result of each tool: of this turn where there is one, else the one that is remembered."""
        remembered = {entry.tool: entry.result for entry in sorted(self.remembered, key=lambda entry: -entry.age_s)}
        return remembered | {step.tool: step.result for step in self.steps if step.status == "succeeded"}

    def question(self) -> Question | None:
        """Return what only the user can say, where something is."""
        needs = {name: choices for step in self.steps for name, choices in (step.needs or {}).items()}
        choices = {name: options for name, options in needs.items() if isinstance(options, list)}
        return Question(fields=sorted(needs), choices=choices) if needs else None

    def _is_formatter(self, step: StepOutcome) -> bool:
        tool = self.tools.tools.get(step.tool)
        return step.status == "succeeded" and tool is not None and tool.formatter
