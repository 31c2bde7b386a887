"""Memory: what a conversation holds from turn to turn, as a caller sees it."""

from typing import Any

from models.contracts.base import Contract, Moment


class RememberedResult(Contract):
    """A result of a tool call that still holds: the same call in this conversation is not made again."""

    tool: str
    args: dict[str, Any]
    """With which the call was made: references are filled in."""
    result: Any
    turn_id: str
    step: str
    at: Moment
    expires_at: Moment
    """Until when it holds."""


class MemoryView(Contract):
    """The memory of a conversation."""

    conversation_id: str
    slots: dict[str, Any]
    """What its messages have settled, with the agent's defaults, and the numbers that follow from it."""
    results: list[RememberedResult]
    """The newest first."""
    summary: str | None
    """What its older messages said, summed up for the planner; None while it is told them word by word."""
