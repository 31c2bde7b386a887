"""Ended steps are the steps of a turn when none of them runs any more."""

from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.plan import Effect, StepStatus


@dataclass(frozen=True)
class EndedStep:
    """A step at the moment when its turn is answered."""

    id: str
    tool: str
    args: dict[str, Any]
    """As in the plan: with references."""
    effect: Effect
    needs: list[str]
    status: StepStatus
    critical: bool
    revision: int
    """The revision of the plan that it belongs to."""
    result: Any
    error: dict[str, Any] | None
