"""A step of a turn, when nothing of the turn is under way any more."""

from dataclasses import dataclass
from typing import Any

from models.contracts.plan import Effect, StepStatus


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
    """The revision of the plan that it is of."""
    result: Any
    error: dict[str, Any] | None
