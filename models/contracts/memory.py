"""A conversation's memory is what it keeps from turn to turn: for its next planner and responder, and for callers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.base import Contract, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledResult:
    """A result from an earlier turn of the conversation."""

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
    """Whether a plan may build on the result: it was read, and no call with an effect has ended since. Otherwise it
    only tells what was done or found."""

    def shown(self) -> dict[str, Any]:
        """Return the entry as a prompt shows it apart from the turn that found it."""
        return {"tool": self.tool, "args": self.args, "result": self.result, "age_s": self.age_s}

    def shown_with(self, seq: int) -> dict[str, Any]:
        """Return the entry as a prompt shows it with the turn of this number. It never changes as time goes by."""
        return {"id": self.name_in(seq), "tool": self.tool, "args": self.args, "result": self.result}

    def name_in(self, seq: int) -> str:
        """Return the name under which a prompt refers to an entry that it shows with the turn of this number."""
        return f"{seq}.{self.step}"


@dataclass(frozen=True, slots=True)
class Exchange:
    """The message and the reply of one finished turn of the conversation. Either may be empty."""

    message: str
    reply: str
    seen: bool = True
    """Whether the reply has reached the person, as far as we know."""
    turn: str = ""
    """The turn's id; empty where nobody asks for it."""
    seq: int = 0
    """The turn's number in the conversation."""
    found: Sequence[RecalledResult] = ()
    """Results of the turn that a prompt shows with it, oldest first."""
    author: str | None = None
    """The person who wrote the reply in place of the agent."""

    @property
    def told(self) -> str:
        """The reply as a language model is to know it."""
        told = self.reply
        if told and self.author is not None:
            told = f"[Not you but a person of the team wrote this, {self.author}:] {told}"
        return told if self.seen or not told else f"[This reply did not reach the user:] {told}"


class RememberedResult(Contract):
    """A tool call's result that the conversation remembers."""

    tool: str
    args: dict[str, Any]
    """The arguments of the call, with references filled in."""
    result: Any
    turn_id: str
    step: str
    holds: bool
    """Whether the same call gets this result instead of being made again, unless its tool is always called. False for
    calls with an effect, and for what was read before one ended."""
    at: Moment
    expires_at: Moment
    """When it is forgotten."""


class MemoryView(Contract):
    """The memory of a conversation."""

    conversation_id: str
    slots: dict[str, Any]
    """Values that its messages have settled, with the agent's defaults, and the numbers derived from them."""
    results: list[RememberedResult]
    """The newest first."""
    summary: str | None
    """A summary of its older messages for the planner; None while the planner gets them in full."""
