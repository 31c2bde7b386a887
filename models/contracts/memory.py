"""A conversation's memory is what it keeps from turn to turn, as a caller sees it."""

from typing import Any

from turnloom.models.contracts.base import Contract, Moment


class RememberedResult(Contract):
    """A tool call's result that is still valid: the same call in this conversation is not made again."""

    tool: str
    args: dict[str, Any]
    """The arguments of the call, with references filled in."""
    result: Any
    turn_id: str
    step: str
    at: Moment
    expires_at: Moment
    """When it stops being valid."""


class MemoryView(Contract):
    """The memory of a conversation."""

    conversation_id: str
    slots: dict[str, Any]
    """Values that its messages have settled, with the agent's defaults, and the numbers derived from them."""
    results: list[RememberedResult]
    """The newest first."""
    summary: str | None
    """A summary of its older messages for the planner; None while the planner gets them in full."""
