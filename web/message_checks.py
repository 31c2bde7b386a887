"""Check a message before its turn is opened: whether the caller may ask for it, and whether we support it."""

import hashlib
from typing import Any, TypeVar

import orjson
from flask import request
from pydantic import TypeAdapter, ValidationError

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.takeover import PersonMessage
from turnloom.models.contracts.turn import Identifier, TurnRequest
from turnloom.models.errors import Invalid, PolicyDenied
from turnloom.models.ledger import conversations
from turnloom.models.ledger.turns import NewTurn
from turnloom.models.runtime import secrets
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import AgentProfile
from turnloom.planner.plan.validation import validate
from turnloom.tools.http.addresses import check_url
from turnloom.web import request_gate
from turnloom.web.auth import caller, demand
from turnloom.web.catalogue import catalogue
from turnloom.web.errors import fault
from turnloom.web.limits import limits_of
from turnloom.web.rates import demand_rate

M = TypeVar("M", TurnRequest, PersonMessage)

CHANNEL = "api"
_NEW = {"llm": None, "priority": "interactive"}
"""Fields that releases before did not have, with their defaults."""
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_LARGEST_SEQUENCE = 2**53
"""Whole numbers in JSON are exact up to here."""


def new_turn(message: TurnRequest, *, may_open: bool) -> NewTurn:
    """Return the turn to open for a message. `may_open`: whether the backlog has room for it.

    Raises:
        Invalid: the message asks for something that we do not support, or for a mode that the agent does not have.
        InvalidPlan: the message's plan breaks rules; the error names every fault.
        NotFound: there is no such agent.
        Unavailable: the message asks for a callback, and there is no key to encrypt the secret that signs it.
        PolicyDenied: the message brings a plan, and the key may not submit plans.
        RateLimited: there are too many messages of its user, key or tenant.
    """
    message = identified(message)
    _refuse_unsupported(message)
    demand_rate(message.user.id if message.user else None)
    if (message.agent, message.mode, message.plan) != (None, None, None):
        _check_against(_agent(message), message)
    allowed = limits_of(caller().tenant_id)
    return NewTurn(
        id=new_id(),
        tenant_id=caller().tenant_id,
        conversation_id=message.conversation_id or str(new_id()),
        channel=CHANNEL,
        body_hash=_body_hash(message),
        default_agent=settings().default_agent,
        deadline_ms=message.deadline_ms or _deadline_ms(message),
        request=message,
        may_open=may_open,
        user_backlog=None if caller().is_development else allowed.user_backlog,
        sequence=_sequence(message.metadata),
        order_ms=settings().order_window_ms,
        # Nothing is ever merged into a plan.
        burst_ms=allowed.burst_window_ms if message.plan is None else 0,
    )


def _deadline_ms(message: TurnRequest) -> int:
    return settings().batch_deadline_ms if message.priority == "batch" else settings().turn_deadline_ms


def _sequence(metadata: dict[str, Any]) -> int | None:
    """Return the sender's sequence number of a message; None if its metadata has no such whole number."""
    number = metadata.get("sequence")
    return number if type(number) is int and 1 <= number <= _LARGEST_SEQUENCE else None


def identified(message: M) -> M:
    """Take the message's id from the header `Idempotency-Key` if the request has one.

    Raises:
        Invalid: the header is not an id, or differs from the message's own.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None or key == message.message_id:
        return message
    detail = None
    if message.message_id is not None:
        detail = "differs from message_id; send one of the two"
    else:
        try:
            _IDENTIFIER.validate_python(key)
        except ValidationError:
            detail = "write 1-128 visible ASCII characters"
    if detail is not None:
        raise Invalid(f"Idempotency-Key: {detail}", faults=[fault("Idempotency-Key", "bad_header", detail)])
    return message.model_copy(update={"message_id": key})


def _body_hash(message: TurnRequest) -> bytes:
    """Hash what the message asks for. An absent field hashes like one with its default value."""
    # Without what is new, a message hashes as in the release before, which may have received it first.
    unsaid = {name for name, default in _NEW.items() if getattr(message, name) == default}
    content = message.model_dump(exclude={"message_id"} | unsaid)
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).digest()


def _refuse_unsupported(message: TurnRequest) -> None:
    if message.callback_url is not None:
        _check_callback(message.callback_url)
    if message.llm not in (None, *settings().llm_names):
        detail = f"these language models may be named: {', '.join(settings().llm_names)}"
        raise Invalid(f"llm: {detail}", faults=[fault("llm", "llm_not_allowed", detail)])


def _check_callback(url: str) -> None:
    try:
        check_url(url)
    except PolicyDenied as error:
        faults = [fault("callback_url", "url_not_allowed", str(error))]
        raise Invalid(f"callback_url: {error}", code="url_not_allowed", faults=faults) from None
    secrets.key_ids()  # without a key there is no secret to sign it with


def _agent(message: TurnRequest) -> AgentProfile:
    """Return the agent that will answer: the message's, else the conversation's own, else the default."""
    name = message.agent
    if name is None and message.conversation_id is not None:
        with request_gate.lookups().passed(), transaction(caller().tenant_id) as db:
            name = conversations.agent_of(db, caller().tenant_id, message.conversation_id)
    return catalogue().agents.get(name or settings().default_agent)


def _check_against(agent: AgentProfile, message: TurnRequest) -> None:
    if message.mode is not None and message.mode not in agent.modes:
        detail = f"the agent {agent.name} works in: {', '.join(agent.modes)}"
        raise Invalid(f"mode: {detail}", faults=[fault("mode", "mode_not_allowed", detail)])
    if message.plan is not None:
        demand("plans:submit")
        validate(message.plan, catalogue().registry.allowed(agent.tools), agent.limits)
