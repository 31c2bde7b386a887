"""Results: how the steps of a turn ended, as input for the planner and the responder."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.plan import StepStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """The outcome of one step."""

    id: str
    tool: str
    args: Mapping[str, Any]
    """The arguments as in the plan, with references."""
    status: StepStatus
    result: Any = None
    error: Mapping[str, Any] | None = None
    """`{code, message}` of a failed step."""
    needs: Mapping[str, bool | list[Any]] | None = None
    """Fields that a step with the status `needs_input` asks the user for. The value lists the choices, if there are
    any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledResult:
    """A result from an earlier turn of the conversation that still holds."""

    tool: str
    args: Mapping[str, Any]
    """The arguments of the call, without references."""
    result: Any
    turn: str
    """The turn's id."""
    step: str
    age_s: int
    """Seconds since the call."""
    holds: bool = True
    """Whether a plan may build on the result: no call with an effect has ended since."""

    def shown(self) -> dict[str, Any]:
        """Return the entry as prompts and readers see it."""
        return {
            "tool": self.tool,
            "args": self.args,
            "result": self.result,
            "turn": self.turn,
            "step": self.step,
            "age_s": self.age_s,
        }
