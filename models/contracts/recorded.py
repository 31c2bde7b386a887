"""A recorded conversation has what its replay needs: messages, replies, tool calls with their results, and times.

It is read from the ledger, or from a file of another system.
"""

from typing import Any
from uuid import UUID, uuid5

from pydantic import Field

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.knowledge import AttributeFact, Entity, Hypothesis, Relationship
from turnloom.models.contracts.manner import Manner
from turnloom.models.contracts.memory import Exchange
from turnloom.models.contracts.replay import TurnRecord
from turnloom.models.contracts.turn import Mode, OnError

_OTHERS = UUID("9d3c1f0e-52c6-5a53-9a53-0f3a6f6b7f10")
"""The namespace of ids that we give turns of other systems."""


class RecordedTurn(Contract):
    """A turn of a recorded conversation."""

    seq: int
    """Its place in the conversation, from 1."""
    turn_id: str = ""
    """Empty for a turn of another system."""
    record: TurnRecord
    begun_at: Moment
    """When its planning began. This is the time that its planner is told."""
    ended_at: Moment | None = None
    """When it ended; None if only the order of the turns is known."""
    shown_message: str
    """Its message as later prompts show it, without pieces that its sender has deleted."""
    is_replayed: bool = True
    """Whether it is replayed. Otherwise it is only the past of later turns: a person wrote the reply, or it was stopped
    before its end."""
    is_forgotten: bool = False
    """Whether later turns know nothing of it, because it was rolled back."""
    seen: bool = True
    """Whether the reply has reached the person, as far as we know."""
    author: str | None = None
    """The person who wrote the reply in place of the agent."""
    person: dict[str, Any] = Field(default_factory=dict)
    mode: Mode | None = None
    llm: str | None = None
    manner: Manner | None = None
    on_error: OnError = "best_effort"
    deadline_ms: int = 120_000
    """Time for it, from the beginning of its planning."""
    submitted_plan: dict[str, Any] | None = None
    """The plan that the caller posted."""
    plans: list[dict[str, Any]] = Field(default_factory=list)
    """The revisions of its plan, in order."""
    asked: list[dict[str, Any]] = Field(default_factory=list)
    """`{tool, args, needs}` of the calls for which its reply asked the user something."""
    uncalled: list[str] = Field(default_factory=list)
    """Steps whose result came without a call: from memory, a cache, or the same call in the plan."""
    llm_ms: dict[str, list[float]] = Field(default_factory=dict)
    """Purpose -> how long each of its calls of a language model took."""

    def key(self, conversation_id: str) -> UUID:
        """Return its id, or for a turn of another system one that is always the same."""
        return UUID(self.turn_id) if self.turn_id else uuid5(_OTHERS, f"{conversation_id}/{self.seq}")


class RecordedConversation(Contract):
    """A conversation with its turns, oldest first: with all of them, or with some and those before."""

    conversation_id: str
    is_foreign: bool = False
    """Whether another system recorded it. Whatever its agent may call is then offered, and nothing is known of users'
    grants."""
    turns: list[RecordedTurn]
    past: list[Exchange] = Field(default_factory=list)
    """Exchanges that its caller brought along when it was opened."""
    summary: str | None = None
    summary_seq: int | None = None
    """The last turn that the summary covers; None without a summary. Only later turns are shown it, and not the
    exchanges up to there."""
    knowledge: list[Entity | AttributeFact | Relationship | Hypothesis] = Field(default_factory=list)
    """Its knowledge graph at its end."""
    older: list[str] = Field(default_factory=list)
    """Turns before `turns`, if these are not all: those that its knowledge comes from."""
