"""WhatsApp, by Meta's Cloud API.

Sources: developers.facebook.com/docs/whatsapp/cloud-api (webhooks, messages, support/error-codes). It was not reachable
when this was written; "unverified" marks what no recorded payload or second source confirms.
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import parse_qs

from pydantic import Field, SecretStr

from turnloom.models.contracts.turn import Reply
from turnloom.models.errors import Unauthorized
from turnloom.planner.reply.text_split import units
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse
from turnloom.workers.channels.calls import answered, bearer, failed, json_request
from turnloom.workers.channels.posted_items import whole
from turnloom.workers.channels.protocol import (
    AccountConfig,
    ChannelName,
    Inbound,
    Item,
    MessageSent,
    Outcome,
    Pace,
    Part,
    ProviderAccount,
    Rate,
    ReplyChoice,
    Unsure,
    WebhookAnswer,
    paced,
    secret,
)
from turnloom.workers.channels.reply_texts import can_be_tapped, numbered, offered, texts
from turnloom.workers.channels.whatsapp_items import failure, items

API = "https://graph.facebook.com"
_VERSION = "v23.0"
"""Meta keeps a version for about two years (unverified)."""

_BUTTONS, _BUTTON_TITLE, _BUTTON_BODY = 3, 20, 1_024
_ROWS, _ROW_TITLE, _ROW_TEXT = 10, 24, 72
_LIST_LABEL = "☰"
"""The text of the button that opens a list: a sign, because we do not know the person's language here."""


class WhatsAppConfig(AccountConfig):
    """An account of WhatsApp: one phone number."""

    app_secret: SecretStr = Field(min_length=1)
    verify_token: SecretStr = Field(min_length=1)
    access_token: SecretStr = Field(min_length=1)
    phone_number_id: str = Field(min_length=1, max_length=64, pattern=r"^[\x21-\x2e\x30-\x7e]+$")
    template: str | None = Field(None, max_length=512)
    """The name of an approved template without variables. It is sent when the window has closed."""
    template_language: str = Field("en", max_length=16)


class WhatsApp:
    """The adapter of WhatsApp."""

    name: ClassVar[ChannelName] = "whatsapp"
    config: ClassVar[type[AccountConfig]] = WhatsAppConfig
    posts_again: ClassVar[bool] = True

    def verify(self, account: ProviderAccount, request: Inbound, now: datetime) -> None:
        if request.method == "GET":
            return  # the handshake has no signature, but the token
        expected = "sha256=" + hmac.new(secret(account.config.app_secret), request.body, sha256).hexdigest()
        given = request.headers.get("x-hub-signature-256", "")
        if not hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
            raise Unauthorized(
                "X-Hub-Signature-256 is missing, or is not that of the app's secret", code="bad_signature"
            )

    def handshake(self, account: ProviderAccount, request: Inbound) -> WebhookAnswer | None:
        if request.method != "GET":
            return None
        query = parse_qs(request.url.partition("?")[2])
        token, mode, challenge = (query.get(f"hub.{name}", [""])[0] for name in ("verify_token", "mode", "challenge"))
        expected = secret(account.config.verify_token)
        if mode != "subscribe" or not hmac.compare_digest(expected, token.encode("utf-8", "replace")):
            raise Unauthorized("hub.verify_token is not the account's verify_token", code="bad_verify_token")
        return WebhookAnswer(challenge[:1_000])

    def parse(self, account: ProviderAccount, request: Inbound) -> list[Item]:
        return whole(partial(items, account=account), request.body)

    def accepted(self, items: Sequence[Item]) -> WebhookAnswer:
        return WebhookAnswer()

    def render(self, reply: Reply, account: ProviderAccount, choices: Sequence[ReplyChoice] = ()) -> list[Part]:
        offer = offered(reply, choices)
        interactive = _interactive(offer)
        if offer and interactive is None:
            return [_text(text) for text in texts(numbered(reply, offer), "whatsapp")]
        *before, last = texts(reply, "whatsapp", last=_BUTTON_BODY if interactive else None)
        if interactive is None:
            return [*map(_text, before), _text(last)]
        return [*map(_text, before), {"type": "interactive", "interactive": {**interactive, "body": {"text": last}}}]

    def numbers(self, choices: Sequence[ReplyChoice]) -> bool:
        has_long_titles = any(units(choice.title) > _ROW_TITLE for choice in choices)
        return has_long_titles or _interactive(choices) is None

    def window(self, account: ProviderAccount) -> timedelta | None:
        return timedelta(hours=24)

    def template(self, account: ProviderAccount) -> Part | None:
        config = account.config
        if config.template is None:
            return None
        return {
            "type": "template",
            "template": {"name": config.template, "language": {"code": config.template_language}},
        }

    def request(self, account: ProviderAccount, recipient: str, part: Part, key: str) -> UpstreamRequest:
        head = {"messaging_product": "whatsapp", "recipient_type": "individual", "to": recipient}
        # Receipts bring the key back, so that a message whose answer was lost is recognised.
        return json_request(
            account, _url(account, "/messages"), {**head, **part, "biz_opaque_callback_data": key}, _auth(account)
        )

    def outcome(self, answer: UpstreamResponse) -> Outcome:
        body = answered(answer)
        match body:
            case {"messages": [{"id": str(message_id)}, *_]}:
                return MessageSent(message_id)
            case {"error": dict(error)}:
                return failure(error)
        return failed(answer)

    def search(
        self, account: ProviderAccount, recipient: str, part: Part, key: str, since: datetime
    ) -> UpstreamRequest | None:
        return None

    def found(self, answer: UpstreamResponse, recipient: str, part: Part, key: str) -> MessageSent | Unsure | None:
        return Unsure("WhatsApp cannot be asked what was sent")

    def probe(self, account: ProviderAccount) -> UpstreamRequest:
        return UpstreamRequest(
            url=_url(account, ""),
            params={"fields": "display_phone_number,verified_name"},
            headers=_auth(account),
            is_named_by_others=account.config.api_base is not None,
        )

    def fault(self, answer: UpstreamResponse) -> str | None:
        match answered(answer):
            case {"error": {"message": message}}:
                return f"Meta says: {str(message)[:300]}"
            case {"id": _}:
                return None
        return f"{answer.host} answered with HTTP {answer.status}, not with the phone number"

    def pace(self, account: ProviderAccount) -> Pace:
        return paced(account, Pace(Rate(1 / 6, burst=10), Rate(80, burst=80)))


def _text(text: str) -> Part:
    return {"type": "text", "text": {"body": text}}


def _interactive(offer: Sequence[ReplyChoice]) -> dict[str, Any] | None:
    """Return the choices as buttons or as a list; None if there are none, or if they do not fit."""
    titles = [choice.title for choice in offer]
    if not offer or len(set(titles)) < len(titles) or not can_be_tapped(offer, _ROWS):
        return None  # WhatsApp refuses two buttons that look alike
    if len(offer) <= _BUTTONS and all(units(title) <= _BUTTON_TITLE for title in titles):
        replies = [{"type": "reply", "reply": {"id": each.payload, "title": each.title}} for each in offer]
        return {"type": "button", "action": {"buttons": replies}}
    if all(units(title) <= _ROW_TEXT for title in titles):
        rows = [_row(number, choice) for number, choice in enumerate(offer, 1)]
        return {"type": "list", "action": {"button": _LIST_LABEL, "sections": [{"rows": rows}]}}
    return None


def _row(number: int, choice: ReplyChoice) -> dict[str, str]:
    if units(choice.title) <= _ROW_TITLE:
        return {"id": choice.payload, "title": choice.title}
    return {"id": choice.payload, "title": str(number), "description": choice.title}


def _url(account: ProviderAccount, path: str) -> str:
    base = (account.config.api_base or API).rstrip("/")
    return f"{base}/{_VERSION}/{account.config.phone_number_id}{path}"


def _auth(account: ProviderAccount) -> Mapping[str, str]:
    return bearer(account.config.access_token)


ADAPTER = WhatsApp()
