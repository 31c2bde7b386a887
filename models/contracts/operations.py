"""The state of the whole deployment, for operators: of all tenants, and none of them by name."""

from typing import Literal

from turnloom.models.contracts.base import Contract, Moment

Segment = Literal["queue", "plan", "tools", "answer", "delivery"]
"""A part of a turn's time: until a planner began it, its plans, its steps from the first start to the last end, its
reply, and the sending of the reply's first part on a channel."""


class QueueState(Contract):
    """A queue of tasks."""

    queue: str
    messages: int | None
    """Messages that wait; None if the broker does not answer."""
    oldest_s: float | None
    """The longest time that anything in the ledger has waited for a worker of this queue; None if nothing waits."""
    slots: int
    """Tasks that its living workers run at the same time."""


class WorkerState(Contract):
    """A worker process that has beaten within the last minute."""

    name: str
    queues: list[str]
    slots: int
    """Tasks that it runs at the same time."""
    steps: int
    """Steps that it runs now."""
    started_at: Moment
    beat_at: Moment
    alive: bool
    """Whether it has beaten within six seconds."""


class BacklogState(Contract):
    """Turns of one status and class that are not final."""

    status: str
    priority: str
    turns: int


class SegmentState(Contract):
    """The time that turns lately took for a part of their work."""

    segment: Segment
    turns: int
    """The turns that had this part."""
    p50_ms: float
    p95_ms: float


class ToolErrors(Contract):
    """The outcomes of a tool's recent calls."""

    tool: str
    calls: int
    failed: int
    errors: dict[str, int]
    """How many, by the code of the error."""
    p95_ms: float | None


class CircuitState(Contract):
    """An open circuit: a service that is left alone because it kept failing."""

    service: str
    """Its name; `account` for the circuits of users' accounts."""
    open: int
    """The number of circuits."""
    left_s: float
    """Seconds until the first of them lets a call try again."""


class Recent(Contract):
    """Turns that were accepted lately and have ended."""

    turns: int
    """Their number: of the last five minutes, and the newest 2,000 at most."""
    span_s: float
    """The time in which they were accepted, up to now."""
    per_minute: float
    failed: int
    segments: list[SegmentState]
    tools: list[ToolErrors]


class Operations(Contract):
    """The state of the deployment, at most a few seconds old."""

    at: Moment
    queues: list[QueueState]
    workers: list[WorkerState]
    beat: bool | None
    """Whether beat sends the periodic tasks; None if Redis does not answer."""
    backlog: list[BacklogState]
    backlog_limit: int
    """The turns in work at which messages are refused."""
    refused: dict[str, int]
    """Requests that were refused because of too much of something, by the code of the error, since counting began."""
    paused_conversations: int
    circuits: list[CircuitState]
    dead_letters: dict[str, int]
    """What did not end properly, by kind: `step` (of unknown effect, to be decided), `turn`, `delivery`, `callback`."""
    recent: Recent
