"""A replay runs recorded conversations again, and reports which of their turns go differently."""

from typing import Any, Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.plan import Effect
from turnloom.models.contracts.turn import Usage

ReplayedOutcome = Literal["same", "different", "diverged", "failed"]
"""How a replayed turn went. `diverged`: it made a call for which there is no recorded result. `failed`: it could not be
replayed, or ended without a reply."""

Aspect = Literal[
    "tools", "arguments", "edges", "slots", "artifacts", "question", "grounding", "policy", "usage", "latency", "status"
]
"""A part of a turn's structure that is compared. The wording of a reply is none."""


class StepRecord(Contract):
    """One tool call of a turn, as it was recorded or replayed."""

    id: str
    tool: str
    """Of ours, or of another system that recorded the conversation."""
    args: dict[str, Any]
    """The arguments of the call, with references filled in where they are known."""
    needs: list[str] = Field(default_factory=list)
    """Steps that it waited for, including those that references imply."""
    effect: Effect = "read"
    status: str = "succeeded"
    result: Any = None
    error: dict[str, Any] | None = None
    duration_ms: float = 0.0
    ended_at: Moment | None = None
    """When a recorded one ended; None if that is not known, and in a replay."""
    revision: int = 1
    recorded: str | None = None
    """In a replay: the id of the recorded step whose result it took; None if there was none, or for a recorded step."""


class TurnRecord(Contract):
    """One turn of a conversation in the form in which turns are compared: a recorded one, or its replay."""

    message: str
    agent: str
    at: Moment
    """When its message was accepted."""
    status: str
    error: dict[str, Any] | None = None
    """`{code, message}` of a turn that failed."""
    steps: list[StepRecord] = Field(default_factory=list)
    slots: dict[str, Any] = Field(default_factory=dict)
    """The conversation's slots after it."""
    reply: str | None = None
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
    """Of each artifact `{kind, size}`. The size is how many rows, options, days or facts it has."""
    question: dict[str, Any] | None = None
    """Fields and choices of the question, if it asked one."""
    grounded: bool | None = None
    violations: list[str] = Field(default_factory=list)
    """Codes of the agent's policies and plan rules that were broken on the way, such as refused plans."""
    usage: Usage | None = None
    """None if it was not recorded."""
    latency_ms: float | None = None
    """The model's time and the steps' durations along the critical path; None if no durations are known."""


class Difference(Contract):
    """One way in which a replayed turn differs from the recorded one."""

    aspect: Aspect
    text: str
    """In words, such as `pms.get_availability: adults is 3, was 2`."""
    recorded: Any = None
    replayed: Any = None


class ReplayedTurn(Contract):
    """A turn that was replayed, beside its record."""

    conversation_id: str
    seq: int
    """Its place in the conversation, from 1."""
    outcome: ReplayedOutcome
    differences: list[Difference] = Field(default_factory=list)
    noise: list[Aspect] = Field(default_factory=list)
    """Aspects in which repeated replays of it differ among themselves."""
    reason: str | None = None
    """Why it diverged or failed."""
    recorded: TurnRecord
    replayed: TurnRecord | None
