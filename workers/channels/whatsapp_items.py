"""Read what WhatsApp posts: batches of messages and receipts."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

from turnloom.workers.channels.posted_items import (
    attempt,
    identifier,
    listed,
    moment,
    optional_identifier,
    person,
    read_json,
    said,
    unknown,
)
from turnloom.workers.channels.protocol import (
    Edit,
    Item,
    Media,
    Message,
    MessageRefused,
    ProviderAccount,
    Receipt,
    TryLater,
    WindowClosed,
)

_LATER_FOR_RECIPIENT = {"131056"}
_LATER_FOR_NUMBER = {"4", "80007", "130429", "131048", "131000", "131016", "131057", "133004", "1", "2"}
"""Too many calls, or a service of Meta that does not work for now. Nothing was taken."""
_WINDOW = {"131047", "470"}

_MEDIA = {"image", "audio", "video", "document", "sticker"}
_STATUSES: dict[str, Literal["sent", "delivered", "read", "failed"]] = {
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "played": "read",
    "failed": "failed",
}

Content = tuple[str, tuple[Media, ...], str | None]
"""Text, media, and the payload of what was tapped."""


def items(body: bytes, account: ProviderAccount) -> list[Item]:
    """Return what a body reports."""
    return list(_items(read_json(body), account))


def failure(error: Mapping[str, Any]) -> TryLater | MessageRefused | WindowClosed:
    """Return what an error of Meta means, in an answer or in a receipt."""
    code = str(error.get("code", "unknown"))[:40]
    if code in _WINDOW:
        return WindowClosed(code)
    if code in _LATER_FOR_RECIPIENT:
        return TryLater("recipient", code)
    if code in _LATER_FOR_NUMBER:
        return TryLater("number", code)
    return MessageRefused(code, str(error.get("message") or error.get("title") or "no reason given")[:300])


def _items(body: Any, account: ProviderAccount) -> Iterator[Item]:
    entries = body.get("entry") if isinstance(body, dict) else None
    if not isinstance(entries, list) or not entries:
        yield unknown("body", body, "it has no entries")
        return
    for entry in entries:
        changes = entry.get("changes") if isinstance(entry, dict) else None
        if not isinstance(changes, list):
            yield unknown("entry", entry, "it has no changes")
            continue
        for change in changes:
            yield from _change(change, account)


def _change(change: Any, account: ProviderAccount) -> Iterator[Item]:
    value = change.get("value") if isinstance(change, dict) else None
    field = change.get("field") if isinstance(change, dict) else None
    if field != "messages" or not isinstance(value, dict):
        yield unknown(field, change)
        return
    metadata = value.get("metadata")
    number = metadata.get("phone_number_id") if isinstance(metadata, dict) else None
    if number is not None and number != account.config.phone_number_id:
        yield unknown("other_number", change, "it is for another phone number of the app")
        return
    yield from _of_value(value, change)


def _of_value(value: dict[str, Any], change: Any) -> Iterator[Item]:
    messages, statuses = value.get("messages"), value.get("statuses")
    names = _names(value.get("contacts"))
    if isinstance(messages, list):
        yield from (attempt(partial(_message, names=names), each, "message") for each in messages)
    if isinstance(statuses, list):
        yield from (attempt(_receipt, each, "status") for each in statuses)
    if not isinstance(messages, list) and not isinstance(statuses, list):
        yield unknown("messages", change, "it has neither messages nor statuses")


def _names(contacts: Any) -> Mapping[str, str | None]:
    """Return the names of the people, by each of their ids."""
    found: dict[str, str | None] = {}
    for contact in contacts if isinstance(contacts, list) else []:
        match contact:
            case {"profile": {"name": name}}:
                for key in ("wa_id", "user_id"):
                    if isinstance(person_id := contact.get(key), str):
                        found[person_id] = person(name)
    return found


def _message(raw: Any, names: Mapping[str, str | None]) -> Item:
    kind = raw["type"]
    if "group_id" in raw:
        return unknown(kind, raw, "messages of groups are not answered")
    # From 2026 on a person may hide the number; then only the user id is there (unverified).
    sender = identifier(raw.get("from") or raw["from_user_id"], 64)
    if kind in {"edit", "revoke"}:
        return _edit(raw, kind, sender, names.get(sender))
    content = _content(kind, raw)
    if content is None:
        return unknown(kind, raw)
    text, media, choice = content
    at = moment(raw["timestamp"])
    message_id = identifier(raw["id"])
    context = raw.get("context")
    return Message(
        provider_id=message_id,
        reference=message_id,
        sender=sender,
        sender_name=names.get(sender),
        recipient=sender,
        text=said(text, media),
        at=at,
        order=int(at.timestamp()),
        media=media,
        choice=choice,
        answers=optional_identifier(context.get("id")) if isinstance(context, dict) else None,
    )


def _edit(raw: Any, kind: str, sender: str, name: str | None) -> Edit:
    at = moment(raw["timestamp"])
    return Edit(
        provider_id=identifier(raw["id"]),
        sender=sender,
        sender_name=name,
        reference=identifier(raw[kind]["original_message_id"]),
        text=_new_text(raw["edit"]["message"]) if kind == "edit" else None,
        at=at,
        order=int(at.timestamp()),
    )


def _new_text(raw: Any) -> str:
    content = _content(raw["type"], raw)
    if content is None:
        raise ValueError("a message of this kind cannot be edited")
    text, media, _ = content
    return said(text, media)


def _content(kind: str, raw: Any) -> Content | None:  # noqa: PLR0911 - one for each kind
    """Return what a message says; None for a kind that is not answered."""
    match kind, raw.get(kind):
        case "text", {"body": str(body)}:
            return body, (), None
        case "button", {"text": str(text)} as button:
            return text, (), _payload(button.get("payload"))
        case "interactive", dict(tapped):
            return _tapped(tapped)
        case "location", dict(place):
            return _place(place), (Media("location"),), None
        case "contacts", list(people):
            return ", ".join(str(each["name"]["formatted_name"]) for each in people), (Media("contact"),), None
        case _, dict(media) if kind in _MEDIA:
            return str(media.get("caption") or ""), (_media(kind, media),), None
    return None


def _tapped(tapped: dict[str, Any]) -> Content | None:
    match tapped:
        case {"type": "button_reply" | "list_reply" as kind}:
            chosen = tapped[kind]
            # A row whose title is a number has its words below.
            said = chosen.get("description") if str(chosen["title"]).isdigit() else None
            return str(said or chosen["title"]), (), _payload(chosen["id"])
        case {"type": "nfm_reply", "nfm_reply": {"response_json": str(answers)}}:
            return answers, (Media("form"),), None
    return None


def _payload(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _place(place: dict[str, Any]) -> str:
    spot = f"{float(place['latitude'])}, {float(place['longitude'])}"
    return ", ".join([*(str(place[name]) for name in ("name", "address") if place.get(name)), spot])


def _media(kind: str, media: dict[str, Any]) -> Media:
    said_as = "voice" if kind == "audio" and media.get("voice") else kind
    return Media(
        said_as, optional_identifier(media.get("id")), person(media.get("mime_type")), person(media.get("filename"))
    )


def _receipt(raw: Any) -> Item:
    status = _STATUSES.get(raw["status"])
    if status is None or raw.get("type") == "call":
        return unknown("status", raw)
    return Receipt(
        provider_id=identifier(raw["id"]),
        status=status,
        at=moment(raw["timestamp"]),
        failure=failure(listed(raw.get("errors"))[0]) if raw.get("errors") else None,
        recipient=optional_identifier(raw.get("recipient_id")),
        key=optional_identifier(raw.get("biz_opaque_callback_data")),
    )
