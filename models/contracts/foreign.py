"""A foreign conversation is one that another system has recorded: one JSON line of a file."""

from typing import Any

from pydantic import ConfigDict, Field

from turnloom.models.contracts.base import Contract, GivenMoment
from turnloom.models.contracts.turn import Identifier


class _Lenient(Contract):
    """A shape of others. Fields that it does not name mean nothing to us."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ForeignCall(_Lenient):
    """A tool call of another system. Its tool need not be one of ours."""

    id: str | None = None
    name: str | None = None
    """None if the record does not name it; then it may stand for any call."""
    args: dict[str, Any] | None = None
    result: Any = None


class ForeignTurn(_Lenient):
    """A message of a foreign conversation, and what was answered."""

    user: str
    assistant: str | None = None
    at: GivenMoment | None = None
    tool_calls: list[ForeignCall] | None = None


class ForeignUser(_Lenient):
    """The person who wrote the messages of a foreign conversation."""

    id: Identifier | None = None
    name: str | None = None
    email: str | None = None
    timezone: str | None = None
    locale: str | None = None


class ForeignConversation(_Lenient):
    """A conversation that another system has recorded."""

    conversation_id: Identifier
    agent: str | None = None
    """The agent that replays it; if absent, that of the replay, or the default."""
    user: ForeignUser | str | None = None
    """The person, or only their id."""
    started_at: GivenMoment | None = None
    turns: list[ForeignTurn] = Field(min_length=1)
