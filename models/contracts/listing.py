"""Listings show conversations, audit records, tools and agents to a caller."""

from typing import Any, Literal

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.plan import Effect
from turnloom.models.contracts.turn import Mode, Reply, TurnStatus, Usage


class ConversationView(Contract):
    """The current state of a conversation."""

    conversation_id: str
    channel: str
    agent: str
    user: dict[str, Any]
    """The person as the caller last described them."""
    turns: int
    """The number of turns."""
    active_turn_id: str | None
    """The turn that is in work."""
    paused_at: Moment | None
    """Since when a person writes in place of the agent; None while the agent answers."""
    paused_by: str | None
    """Who took it over."""
    usage: Usage
    """Usage of its final turns."""
    created_at: Moment
    updated_at: Moment
    erased_at: Moment | None


class ConversationPage(Contract):
    """Conversations, the last changed first."""

    items: list[ConversationView]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


class TurnSummary(Contract):
    """One exchange of a conversation."""

    turn_id: str
    seq: int
    agent: str
    status: TurnStatus
    message: str
    """Empty where a person has written in place of the agent."""
    reply: Reply | None
    author: str | None
    """The person who wrote the reply in place of the agent; None if the agent did."""
    created_at: Moment
    finished_at: Moment | None


class TurnPage(Contract):
    """Turns of a conversation, oldest first."""

    items: list[TurnSummary]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


class FoundTurn(Contract):
    """A turn that was searched for."""

    turn_id: str
    conversation_id: str
    seq: int
    agent: str
    status: TurnStatus
    channel: str
    """`api`, or the channel that its message came from."""
    account: str | None
    """The account of the channel."""
    user: str | None
    """The id of the person who wrote the message."""
    message: str
    """Its first 300 characters."""
    reply: str | None
    """The first 300 characters of the reply's text."""
    author: str | None
    """The person who wrote the reply in place of the agent; None if the agent did."""
    error: str | None
    """The code of its error."""
    created_at: Moment
    finished_at: Moment | None


class FoundTurns(Contract):
    """Turns that were searched for, the last accepted first."""

    items: list[FoundTurn]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


class AuditView(Contract):
    """A record of an audit chain."""

    seq: int
    turn_id: str | None
    kind: str
    """Of a conversation: `turn.received`, `message.merged`, `message.changed`, `message.hidden`, `plan.recorded`,
    `calls.claimed`, `calls.ended`, `call.delayed`, `approval.requested`, `approval.decided`, `step.decided`,
    `turn.cancelled`, `turn.finished`, `delivery.ended`, `delivery.confirmed`, `delivery.redriven`,
    `callback.ended`, `callback.redriven`, `feedback.given`, `conversation.paused`, `conversation.resumed`,
    `message.written`, `conversation.erased`, `conversation.exported`. Of the tenant itself: `tenant.created`,
    `key.created` and so on."""
    content: dict[str, Any] | None
    """None once erased."""
    digest: str
    """SHA-256 of the content, in hex."""
    hash: str
    """SHA-256 over the fields of the record, its digest and the previous hash, in hex."""
    at: Moment


class AuditPage(Contract):
    """Audit records of a conversation, or of the tenant itself, oldest first."""

    items: list[AuditView]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


class ToolView(Contract):
    """A tool that plans may call."""

    name: str
    description: str
    effect: Effect
    queue: str
    timeout_s: float
    inline: bool
    requires_approval: bool
    """Whether a person must approve each call."""
    isolation: Literal["thread", "process"]
    input_schema: dict[str, Any]
    """JSON schema of the arguments."""
    output_schema: dict[str, Any]
    """JSON schema of the result."""


class ToolList(Contract):
    """The tools of the enabled packs, by name."""

    items: list[ToolView]


class AgentView(Contract):
    """An agent that turns may name."""

    name: str
    version: int
    source: str
    """`agents/name@version`; if the tenant has changed the agent, followed by `+` and the digest of its text."""
    description: str
    mode: Mode
    """The mode of a turn that asks for none."""
    modes: list[Mode]
    tools: list[str]
    """Names of the tools it may call here."""
    max_depth: int | None
    max_fan_out: int | None
    suggestions: list[str]
    """What a user may begin with."""


class AgentList(Contract):
    """The agents, by name."""

    items: list[AgentView]


class Health(Contract):
    """The health of a process."""

    status: Literal["ok", "ready"]
