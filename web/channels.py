"""Receive what providers of channels post.

Messages become turns or answer what was asked, receipts are joined to replies, the rest is kept.

A request has no API key: the provider's signature is the key. It is answered when everything in it is recorded.
"""

import hashlib
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response, current_app, request
from pydantic import ValidationError

from turnloom.models.connections.database import statement
from turnloom.models.contracts.turn import TurnRequest, User
from turnloom.models.errors import NotFound, ToolFailed, Unavailable
from turnloom.models.ledger import channel_items
from turnloom.models.ledger.channel_items import Correction, ReceivedItem
from turnloom.models.ledger.chat_answers import TakenAnswer
from turnloom.models.ledger.turns import NewTurn
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.value_faults import faults_of
from turnloom.web import backlog, request_gate
from turnloom.web.ingest import ACCEPTED, carry_out, hand_on, open_turn, take_answer
from turnloom.web.limits import limits_of
from turnloom.web.rates import is_within_rate
from turnloom.workers.channels import send_attempt
from turnloom.workers.channels.accounts import OpenAccount, OpenAccounts, is_account_name
from turnloom.workers.channels.answers import read_answer
from turnloom.workers.channels.protocol import (
    Edit,
    Inbound,
    Item,
    Message,
    MessageRefused,
    Receipt,
    TryLater,
    Unknown,
    WindowClosed,
)
from turnloom.workers.dispatch import dispatch_deliveries, dispatch_reply

_EXTENSION = "turnloom.channels"
_COUNTED_AS = dict.fromkeys(ACCEPTED, "message") | {"decided": "answer", "moot": "answer"}
_COUNTED_AS |= {"strange": "kept", "deleted": "kept"}

blueprint = APIBlueprint("channels", __name__, url_prefix="/v1/channels", tag="Channels")


def install(extensions: dict[str, object]) -> None:
    """Give an application its cache of accounts."""
    extensions[_EXTENSION] = OpenAccounts()


@blueprint.get("/<channel>/<account>")
@blueprint.output({}, content_type="text/plain", description="What the provider expects")
@blueprint.doc(operation_id="verify_webhook")
def shake_hands(channel: str, account: str) -> Response:
    """Answer a provider, who alone calls this, if it asks whether this address is ours; some ask by `POST`."""
    return _answer(_account(channel, account))


@blueprint.post("/<channel>/<account>")
@blueprint.output({}, content_type="text/plain", description="It is recorded; the body is what the provider expects")
@blueprint.doc(operation_id="receive_webhook")
def receive(channel: str, account: str) -> Response:
    """Receive what a provider posts.

    Only the provider calls this: its signature takes the place of a key. The body's form is the provider's own. A
    message becomes a turn of the conversation `channel:account:sender`; one that came before opens no second turn. An
    edit or a deletion changes its turn if that has not begun. What is none of these, nor a receipt of a message of
    ours, is kept and not answered. 503 asks the provider to post again.
    """
    return _answer(_account(channel, account))


def _answer(its: OpenAccount) -> Response:
    url = f"{request.root_path}{request.path}?{request.query_string.decode('latin-1')}"
    headers = {name.lower(): value for name, value in request.headers}
    posted = Inbound(request.method, url, headers, request.get_data())
    its.adapter.verify(its.account, posted, datetime.now(UTC))
    answer = its.adapter.handshake(its.account, posted)
    if answer is None:
        answer = its.adapter.accepted(_take(its, posted))
    return Response(answer.body, content_type=answer.content_type)


def _account(channel: str, name: str) -> OpenAccount:
    known = cast("OpenAccounts", current_app.extensions[_EXTENSION])
    try:
        found = known.find(channel, name) if is_account_name(name) else None
    except ToolFailed as error:
        raise Unavailable(f"the account cannot be read: {error}", code="account_unreadable") from error
    if found is None:
        raise NotFound("there is no such account on a channel")
    return found


def _take(its: OpenAccount, posted: Inbound) -> list[Item]:
    """Record every item of a webhook, each in a commit of its own. Return them.

    Raises:
        Unavailable: some could not be recorded. Those that were are recognised when they come again.
    """
    webhook, missed = _Webhook(new_id(), its.key, posted.body), None
    items = its.adapter.parse(its.account, posted)
    for item in items:
        try:
            counted = _record_apart(its, webhook, item)
            counts().add("turnloom_channel_items_total", its.account.channel, counted)
        except Unavailable as error:
            missed = error
    if missed is not None:
        raise missed
    return items


class _Webhook(NamedTuple):
    id: UUID
    channel: str
    body: bytes

    def item(self, kind: str, provider_id: str, **fields: Any) -> ReceivedItem:
        """Return something that this webhook reports. `fields` are further ones of `ReceivedItem`."""
        return ReceivedItem(
            id=new_id(),
            webhook_id=self.id,
            body=self.body,
            channel=self.channel,
            kind=kind,
            provider_id=provider_id,
            **fields,
        )


def _record_apart(its: OpenAccount, webhook: _Webhook, item: Item) -> str:
    """Record an item, or keep it if that cannot be done: what the provider posts again would fail again."""
    try:
        return _record(its, webhook, item)
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not take the item's neighbours with it
        log.error("item.broken", channel=its.account.channel, error=type(error).__name__)
        digest = hashlib.sha256(webhook.body).hexdigest()
        return _keep(its, webhook, digest, {"kind": "broken", "why": f"our own fault: {type(error).__name__}"})


def _record(its: OpenAccount, webhook: _Webhook, item: Item) -> str:
    """Record an item; return the kind that it is counted as."""
    match item:
        case Message():
            return _open(its, webhook, item)
        case Receipt():
            return _join(its, webhook, item)
        case Edit():
            return _change(its, webhook, item)
        case Unknown():
            digest = hashlib.sha256(item.raw.encode()).hexdigest()
            return _keep(its, webhook, digest, {"kind": item.kind, "why": item.why})


def _change(its: OpenAccount, webhook: _Webhook, edit: Edit) -> str:
    """Change the message whose turn has not begun. An edit that comes later is a message that says what it corrects."""
    said = {"deleted": True} if edit.text is None else {"text": edit.text}
    detail = {"kind": "edit", "why": "the message that it changes did not come", "order": edit.order, **said}
    about = {"conversation_id": _conversation(its, edit), "reference": edit.reference, "at": edit.at}
    item = webhook.item("edit", edit.provider_id, detail=detail, **about)
    with request_gate.apart().passed(), statement([its.tenant_id]) as db:
        changed = channel_items.change(db, its.tenant_id, item)
    if changed.correction is not None:
        return _correct(its, webhook, edit, changed.correction)
    if changed.closed is not None:
        dispatch_reply(changed.closed)
    log.info("message.changed", channel=its.account.channel, item_id=str(item.id), outcome=changed.outcome)
    return {"waiting": "kept", "repeated": "repeated"}.get(changed.outcome, "edit")


def _correct(its: OpenAccount, webhook: _Webhook, edit: Edit, correction: Correction) -> str:
    message = Message(
        provider_id=edit.provider_id,
        reference=edit.reference,
        sender=edit.sender,
        sender_name=edit.sender_name,
        thread=edit.thread,
        recipient=correction.recipient,
        text=correction.message,
        at=edit.at,
        order=edit.order,
    )
    return _open(its, webhook, message, {"order": edit.order, "text": edit.text, "before": correction.before})


def _conversation(its: OpenAccount, item: Message | Edit) -> str:
    return ":".join(filter(None, (its.key, item.sender, item.thread)))


def _open(its: OpenAccount, webhook: _Webhook, message: Message, detail: dict[str, Any] | None = None) -> str:
    conversation_id = _conversation(its, message)
    about = {"conversation_id": conversation_id, "recipient": message.recipient, "at": message.at}
    item = webhook.item("message", message.provider_id, reference=message.reference, detail=detail or {}, **about)
    try:
        asked = TurnRequest(
            message=message.text,
            conversation_id=conversation_id,
            agent=its.account.agent,
            message_id=message.provider_id,
            user=User(id=message.sender, name=message.sender_name and message.sender_name[:200]),
        )
    except ValidationError as error:
        return _keep(its, webhook, message.provider_id, {"kind": "message", "why": faults_of(error)})
    if not is_within_rate(its.tenant_id, its.key, message.sender):
        _keep(its, webhook, message.provider_id, {"kind": "message", "why": "too many messages came"})
        return "refused"
    answer = read_answer(message, its.tenant_id)
    with backlog.asking_for(its.tenant_id, asked.priority) as place:
        new = _new_turn(its, asked, message, item, may_open=place.may_open)
        taken = open_turn(new) if answer is None else take_answer(new, answer)
        place.is_opened = taken.outcome == "opened"
    if taken.outcome == "full":
        return _refuse(its, webhook, message)
    if isinstance(taken, TakenAnswer):
        carry_out(taken)
    else:
        hand_on(taken)
    return _COUNTED_AS.get(taken.outcome, "repeated")


def _new_turn(its: OpenAccount, asked: TurnRequest, message: Message, item: ReceivedItem, *, may_open: bool) -> NewTurn:
    assert asked.conversation_id is not None
    allowed = limits_of(its.tenant_id)
    return NewTurn(
        id=new_id(),
        tenant_id=its.tenant_id,
        conversation_id=asked.conversation_id,
        channel=its.key,
        body_hash=hashlib.sha256(message.text.encode()).digest(),
        default_agent=its.account.agent,
        deadline_ms=settings().turn_deadline_ms,
        request=asked,
        may_open=may_open,
        sequence=message.order,
        user_backlog=allowed.user_backlog,
        burst_ms=allowed.burst_window_ms,
        item=item,
    )


def _refuse(its: OpenAccount, webhook: _Webhook, message: Message) -> str:
    """Refuse a message because the backlog is full: the provider posts it again, or it is kept for people to see.

    Raises:
        Unavailable: the provider posts it again.
    """
    if its.adapter.posts_again:
        message_text = "too many turns are in work already; post the message again later"
        raise Unavailable(message_text, code="overloaded", retry_after_s=backlog.RETRY_AFTER_S)
    _keep(its, webhook, message.provider_id, {"kind": "message", "why": "too many turns were in work"})
    return "refused"


def _join(its: OpenAccount, webhook: _Webhook, receipt: Receipt) -> str:
    detail = {} if receipt.failure is None else {"error": _error(receipt.failure)}
    item = webhook.item("receipt", receipt.provider_id, status=receipt.status, key=receipt.key, detail=detail)
    with request_gate.apart().passed(), statement([its.tenant_id]) as db:
        turn_id = channel_items.note_receipt(db, its.tenant_id, item, _again(its, receipt))
    if turn_id is not None:
        dispatch_deliveries([turn_id])
    return "receipt"


def _again(its: OpenAccount, receipt: Receipt) -> dict[str, Any] | None:
    """Return how to send a message again that the provider took and then did not deliver; None: not at all."""
    match receipt.failure:
        case TryLater():
            return {"wait_ms": send_attempt.pause_ms(receipt.failure, 2)}
        case WindowClosed():
            template = its.adapter.template(its.account)
            return None if template is None else {"body": template}
    return None


def _error(failure: TryLater | WindowClosed | MessageRefused) -> dict[str, Any]:
    ours = "the provider took the message and could not deliver it"
    return {"code": failure.code, "message": failure.why if isinstance(failure, MessageRefused) else ours}


def _keep(its: OpenAccount, webhook: _Webhook, provider_id: str, detail: dict[str, str]) -> str:
    item = webhook.item("kept", provider_id, detail=detail)
    with request_gate.apart().passed(), statement([its.tenant_id]) as db:
        is_new = channel_items.keep(db, its.tenant_id, item)
    if is_new:
        log.info("item.kept", channel=its.account.channel, item_id=str(item.id), kind=detail["kind"])
    return "kept" if is_new else "repeated"
