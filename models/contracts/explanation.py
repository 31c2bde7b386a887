"""An explanation names the one reason why a turn makes no progress."""

from typing import Literal

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.turn import TurnStatus

Cause = Literal[
    "finished",
    "earlier_turn",
    "burst_window",
    "order_window",
    "user_busy",
    "tenant_busy",
    "broker_down",
    "no_worker",
    "waiting_for_worker",
    "planning",
    "planner_lost",
    "approval",
    "rate_limit",
    "circuit_open",
    "retry_at",
    "step_running",
    "step_lost",
    "responding",
    "responder_lost",
]
"""The causes for which a turn can wait. A closed list."""


class Explanation(Contract):
    """The reason why a turn makes no progress."""

    turn_id: str
    status: TurnStatus
    cause: Cause
    message: str
    """The cause in a sentence, with names and times."""
    since: Moment
    """When the cause began: the turn ended, became ready, was claimed, was lost."""
    until: Moment | None = None
    """When the claim ends unless it is renewed, the approval lapses, the step is tried again, or the turn is no longer
    held."""
    step: str | None = None
    """Id of the step, if the turn waits for one."""
    queue: str | None = None
    """The queue from which a worker must take the next task."""
    turn: str | None = None
    """Id of the turn that comes first."""
