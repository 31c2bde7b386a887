"""Explanation: the one cause for which a turn is not further on than it is."""

from typing import Literal

from models.contracts.base import Contract, Moment
from models.contracts.turn import TurnStatus

Cause = Literal[
    "finished",
    "earlier_turn",
    "burst_window",
    "order_window",
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
"""What a turn can wait for. A closed list."""


class Explanation(Contract):
    """The reason why a turn makes no progress."""

    turn_id: str
    status: TurnStatus
    cause: Cause
    message: str
    """The cause in a sentence, with names and times."""
    since: Moment
    """When the turn came to this: ended, became ready, was claimed, was lost."""
    until: Moment | None = None
    """How long the claim holds, unless it is renewed; when the approval lapses; when the step is tried again; how long
    the turn is held."""
    step: str | None = None
    """Id of the step, where it is one that the turn waits for."""
    queue: str | None = None
    """The queue from which a worker must take the next task."""
    turn: str | None = None
    """Id of the turn that comes first."""
