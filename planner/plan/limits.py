"""The bounds of a plan."""

from dataclasses import dataclass, field

from turnloom.planner.memory.slots import Slots


@dataclass(frozen=True)
class PlanLimits:
    """The bounds of a plan. None means no bound."""

    max_steps: int = 200
    max_depth: int | None = None
    """Most steps on the longest path."""
    max_fan_out: int | None = None
    """Most steps that need the same step directly."""
    slots: Slots = field(default_factory=dict)
    """The slots that it may fill. If there are none, a plan's slots are ignored."""
