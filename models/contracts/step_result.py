"""The result of a step: how it ended, for the planner and the responder of its turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.plan import Effect, StepStatus, find_references, parse_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of one step of a turn."""

    id: str
    tool: str
    args: Mapping[str, Any]
    """The arguments as in the plan, with references."""
    status: StepStatus
    result: Any = None
    error: Mapping[str, Any] | None = None
    """`{code, message}` of a failed step."""
    asks: Mapping[str, bool | list[Any]] | None = None
    """Fields that a step with the status `needs_input` asks the user for. The value lists the choices, if there are
    any."""
    effect: Effect = "read"
    needs: Sequence[str] = ()
    """Steps that it had to wait for."""
    critical: bool = True
    revision: int = 1
    """The revision of the plan that it belongs to."""

    @property
    def refers_to(self) -> list[str]:
        """The steps whose results its arguments refer to."""
        found = (parse_reference(reference) for _, reference in find_references(dict(self.args)))
        return list(dict.fromkeys(reference.step for reference in found if reference))
