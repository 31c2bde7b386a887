"""Telegram, by its Bot API (core.telegram.org/bots/api)."""

import hmac
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from pydantic import Field, SecretStr

from turnloom.models.contracts.turn import Reply
from turnloom.models.errors import NotFound, Unauthorized
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse
from turnloom.workers.channels.calls import answered, failed, json_request, pause
from turnloom.workers.channels.posted_items import (
    attempt,
    identifier,
    moment,
    optional_identifier,
    person,
    read_json,
    said,
    unknown,
    whole,
)
from turnloom.workers.channels.protocol import (
    AccountConfig,
    ChannelName,
    Edit,
    Inbound,
    Item,
    Media,
    Message,
    MessageRefused,
    MessageSent,
    Outcome,
    Pace,
    Part,
    ProviderAccount,
    Rate,
    ReplyChoice,
    TryLater,
    Unsure,
    WebhookAnswer,
    paced,
    secret,
)
from turnloom.workers.channels.reply_texts import can_be_tapped, numbered, offered, texts

API = "https://api.telegram.org"

_MEDIA = ("photo", "voice", "audio", "video", "video_note", "animation", "document", "sticker")
_BUTTONS = 100
"""Most buttons of a message (unverified)."""
_BUTTON_TITLE = 60
"""What a phone shows of a button. Telegram names no limit (unverified)."""


class TelegramConfig(AccountConfig):
    """An account of Telegram: one bot."""

    secret_token: SecretStr = Field(min_length=1, max_length=256)
    bot_token: SecretStr = Field(min_length=1)


class Telegram:
    """The adapter of Telegram."""

    name: ClassVar[ChannelName] = "telegram"
    config: ClassVar[type[AccountConfig]] = TelegramConfig
    posts_again: ClassVar[bool] = True

    def verify(self, account: ProviderAccount, request: Inbound, now: datetime) -> None:
        given = request.headers.get("x-telegram-bot-api-secret-token", "")
        if not hmac.compare_digest(secret(account.config.secret_token), given.encode("utf-8", "replace")):
            message = "X-Telegram-Bot-Api-Secret-Token is missing, or is not the account's secret_token"
            raise Unauthorized(message, code="bad_signature")

    def handshake(self, account: ProviderAccount, request: Inbound) -> WebhookAnswer | None:
        if request.method == "GET":
            raise NotFound("Telegram posts to this address; nothing can be read from it")
        return None

    def parse(self, account: ProviderAccount, request: Inbound) -> list[Item]:
        return whole(lambda body: [attempt(_item, read_json(body), "update")], request.body)

    def accepted(self, items: Sequence[Item]) -> WebhookAnswer:
        """Tell Telegram of a tap that it was taken: a phone shows until then that its button is at work.

        The answer to a webhook may hold one call of the Bot API (core.telegram.org/bots/api, "Making requests when
        getting updates").
        """
        taps = [item.reference for item in items if isinstance(item, Message) and item.choice is not None]
        if not taps:
            return WebhookAnswer()
        call = {"method": "answerCallbackQuery", "callback_query_id": taps[0]}
        return WebhookAnswer(json.dumps(call), "application/json")

    def render(self, reply: Reply, account: ProviderAccount, choices: Sequence[ReplyChoice] = ()) -> list[Part]:
        offer = offered(reply, choices)
        if not can_be_tapped(offer, _BUTTONS):
            reply, offer = numbered(reply, offer), []
        elif self.numbers(offer):
            reply = numbered(reply, offer)
            offer = [ReplyChoice(choice.payload, str(number)) for number, choice in enumerate(offer, 1)]
        parts: list[Part] = [{"text": text} for text in texts(reply, "telegram")]
        if offer:
            rows = [[{"text": choice.title, "callback_data": choice.payload}] for choice in offer]
            parts[-1]["reply_markup"] = {"inline_keyboard": rows}
        return parts

    def numbers(self, choices: Sequence[ReplyChoice]) -> bool:
        has_long_titles = any(len(choice.title) > _BUTTON_TITLE for choice in choices)
        return has_long_titles or not can_be_tapped(choices, _BUTTONS)

    def window(self, account: ProviderAccount) -> timedelta | None:
        return None

    def template(self, account: ProviderAccount) -> Part | None:
        return None

    def request(self, account: ProviderAccount, recipient: str, part: Part, key: str) -> UpstreamRequest:
        chat, _, topic = recipient.partition("/")
        where: dict[str, Any] = {"chat_id": int(chat), **({"message_thread_id": int(topic)} if topic else {})}
        return json_request(account, _url(account, "sendMessage"), {**where, **part}, {})

    def outcome(self, answer: UpstreamResponse) -> Outcome:
        match answered(answer):
            case {"ok": True, "result": {"message_id": int(message_id), "chat": {"id": int(chat)}}}:
                return MessageSent(_reference(chat, message_id))
            case {"ok": False, "error_code": 429, **more}:
                parameters = more.get("parameters")
                after = parameters.get("retry_after") if isinstance(parameters, dict) else None
                # Telegram does not say whose limit it was. Nearly always it is that of the chat.
                return TryLater("recipient", "429", pause(after))
            case {"ok": False, "error_code": int(code), **more}:
                why = str(more.get("description") or "no reason given")[:300]
                return TryLater("number", str(code)) if code >= 500 else MessageRefused(str(code), why)
        return failed(answer)

    def search(
        self, account: ProviderAccount, recipient: str, part: Part, key: str, since: datetime
    ) -> UpstreamRequest | None:
        return None

    def found(self, answer: UpstreamResponse, recipient: str, part: Part, key: str) -> MessageSent | Unsure | None:
        return Unsure("Telegram cannot be asked what was sent")

    def probe(self, account: ProviderAccount) -> UpstreamRequest:
        return json_request(account, _url(account, "getMe"), {}, {})

    def fault(self, answer: UpstreamResponse) -> str | None:
        match answered(answer):
            case {"ok": True}:
                return None
            case {"ok": False, "description": description}:
                return f"Telegram says: {str(description)[:300]}"
        return f"{answer.host} answered with HTTP {answer.status}, not with the bot"

    def pace(self, account: ProviderAccount) -> Pace:
        return paced(account, Pace(Rate(1, burst=3), Rate(30, burst=30)))


def _item(update: Any) -> Item:
    match update:
        case {"message": dict(message)}:
            return _message(update, message)
        case {"edited_message": dict(message)}:
            return _edit(update, message)
        case {"callback_query": dict(query)}:
            return _tapped(update, query)
        case dict():
            return unknown(next((name for name in update if name != "update_id"), "update"), update)
    return unknown("update", update, "it is no object")


def _message(update: Any, raw: dict[str, Any]) -> Item:
    if "from" not in raw or raw["from"].get("is_bot"):
        return unknown("message", update, "no person wrote it")
    media = tuple(_media(kind, raw[kind]) for kind in _MEDIA if kind in raw)
    text = raw.get("text") or raw.get("caption") or ""
    if "location" in raw:
        place = raw["location"]
        media, text = (*media, Media("location")), f"{float(place['latitude'])}, {float(place['longitude'])}"
    if "contact" in raw:
        media, text = (*media, Media("contact")), str(raw["contact"]["first_name"])
    if not media and not text:
        return unknown(_service_kind(raw), update)
    replied = raw.get("reply_to_message")
    return Message(
        **_of(update, raw["from"], raw["chat"]),
        reference=_reference(raw["chat"]["id"], raw["message_id"]),
        recipient=_recipient(raw),
        text=said(text, media),
        at=moment(raw["date"]),
        media=media,
        answers=_reference(raw["chat"]["id"], replied["message_id"]) if isinstance(replied, dict) else None,
    )


def _tapped(update: Any, query: dict[str, Any]) -> Item:
    message = query.get("message")
    if not isinstance(message, dict) or not isinstance(query.get("data"), str):
        return unknown("callback_query", update)
    shown = _reference(message["chat"]["id"], message["message_id"])
    return Message(
        **_of(update, query["from"], message["chat"]),
        reference=identifier(query["id"]),
        recipient=_recipient(message),
        text=said(_title(message, query["data"])),
        choice=query["data"],
        answers=shown,
    )


def _title(message: dict[str, Any], payload: str) -> str:
    """Return the text of the button that was tapped; a number is the place of a choice that is too long for it."""
    for row in message.get("reply_markup", {}).get("inline_keyboard", []):
        for button in row:
            if button.get("callback_data") == payload and not str(button["text"]).isdigit():
                return str(button["text"])
    return payload


def _edit(update: Any, raw: dict[str, Any]) -> Item:
    of = _of(update, raw["from"], raw["chat"])
    media = tuple(_media(kind, raw[kind]) for kind in _MEDIA if kind in raw)
    return Edit(
        **of,
        reference=_reference(raw["chat"]["id"], raw["message_id"]),
        text=said(raw.get("text") or raw.get("caption") or "", media),
        at=moment(raw.get("edit_date", raw["date"])),
    )


def _of(update: Any, sender: Any, chat: Any) -> dict[str, Any]:
    """Return what every message says of its sender and its place in the order."""
    names = (sender.get("first_name"), sender.get("last_name"))
    sender_id = identifier(sender["id"], 64)
    return {
        "provider_id": identifier(update["update_id"]),
        "sender": sender_id,
        "sender_name": person(" ".join(name for name in names if isinstance(name, str))),
        # In a private chat, the chat's id is the person's. In a group each person has a conversation of their own.
        "thread": None if chat["id"] == sender["id"] else identifier(chat["id"], 40),
        "order": _whole_number(update["update_id"]),
    }


def _recipient(message: dict[str, Any]) -> str:
    chat = _whole_number(message["chat"]["id"])
    topic = message.get("message_thread_id") if message.get("is_topic_message") else None
    return str(chat) if topic is None else f"{chat}/{_whole_number(topic)}"


def _reference(chat: Any, message: Any) -> str:
    return f"{_whole_number(chat)}/{_whole_number(message)}"


def _whole_number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise TypeError("a whole number was expected")
    return value


def _media(kind: str, raw: Any) -> Media:
    each = raw[-1] if kind == "photo" else raw  # a photo comes in several sizes, the largest last
    word = {"photo": "image", "video_note": "video", "animation": "video"}.get(kind, kind)
    name = person(each.get("file_name") or each.get("title") or each.get("emoji"))
    return Media(word, optional_identifier(each.get("file_id")), person(each.get("mime_type")), name)


def _service_kind(raw: dict[str, Any]) -> str:
    """Return the kind of a message that nobody wrote, such as `new_chat_members`: the name of its last member."""
    return next(reversed(raw))


def _url(account: ProviderAccount, method: str) -> str:
    base = (account.config.api_base or API).rstrip("/")
    return f"{base}/bot{account.config.bot_token.get_secret_value()}/{method}"


ADAPTER = Telegram()
