"""Read what Slack posts: events, and buttons that were tapped."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from turnloom.workers.channels.posted_items import (
    attempt,
    identifier,
    listed,
    moment,
    optional_identifier,
    person,
    read_json,
    said,
    storable,
    unknown,
)
from turnloom.workers.channels.protocol import Edit, Item, Media, Message

_OWN_WORDS = {None, "file_share", "thread_broadcast", "me_message"}
"""The subtypes of a message that a person wrote."""
_MARKUP = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")


def items(body: bytes) -> list[Item]:
    """Return what a body reports."""
    return [attempt(_item, _value(body), "event")]


def _value(body: bytes) -> Any:
    """Return the JSON value of a body; buttons and commands come as a form."""
    if body.startswith(b"{"):
        return read_json(body)
    form = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=200)
    if "payload" in form:
        return read_json(form["payload"][0].encode())
    if "command" in form:
        return storable({"type": "command", **{name: values[0] for name, values in form.items()}})
    raise ValueError("neither JSON nor a form of Slack")


def _item(raw: Any) -> Item:
    match raw:
        case {"type": "event_callback", "event": {"type": "message" | "app_mention"} as event}:
            return _event(raw, event)
        case {"type": "event_callback", "event": {"type": kind}}:
            return unknown(kind, raw)
        case {"type": "block_actions", "actions": [dict(action), *_]}:
            return _tapped(raw, action)
    return unknown(raw.get("type"), raw)


def _event(raw: Any, event: dict[str, Any]) -> Item:
    subtype = event.get("subtype")
    if subtype in {"message_changed", "message_deleted"}:
        return _edit(raw, event)
    if subtype not in _OWN_WORDS or event.get("bot_id") or not event.get("user"):
        return unknown(subtype or "bot_message", raw, "no person wrote it")
    bots = _bots(raw)
    if event["type"] == "message" and not _is_direct(event) and any(f"<@{bot}>" in event["text"] for bot in bots):
        return unknown("message", raw, "the same message comes as app_mention")
    files = tuple(_media(each) for each in listed(event.get("files")))
    thread = event.get("thread_ts") or (None if _is_direct(event) else event["ts"])
    channel, text = identifier(event["channel"], 64), event.get("text") or ""
    return Message(
        provider_id=identifier(raw["event_id"]),
        reference=f"{channel}/{identifier(event['ts'], 40)}",
        sender=identifier(event["user"], 64),
        thread=None if thread is None else identifier(thread, 40),
        recipient=channel if thread is None else f"{channel}/{thread}",
        text=said(_plain(text, bots) or _plain(text, []), files),  # a mention may be all that was written
        at=moment(event["ts"]),
        order=_order(event["ts"]),
        media=files,
    )


def _edit(raw: Any, event: dict[str, Any]) -> Item:
    is_deleted = event["subtype"] == "message_deleted"
    message = event["previous_message"] if is_deleted else event["message"]
    if message.get("bot_id") or not message.get("user"):
        return unknown(event["subtype"], raw, "no person wrote it")
    if not is_deleted and not message.get("edited"):
        return unknown(event["subtype"], raw, "Slack changed it, not its writer")
    ts = event["deleted_ts"] if is_deleted else message.get("ts") or event["previous_message"]["ts"]
    channel = identifier(event["channel"], 64)
    thread = message.get("thread_ts") or (None if _is_direct(event) else ts)
    return Edit(
        provider_id=identifier(raw["event_id"]),
        sender=identifier(message["user"], 64),
        thread=None if thread is None else identifier(thread, 40),
        reference=f"{channel}/{identifier(ts, 40)}",
        text=None if is_deleted else said(_plain(message.get("text") or "", _bots(raw))),
        at=moment(event["ts"]) if "ts" in event else None,
        order=_order(event["ts"]) if "ts" in event else None,
    )


def _tapped(raw: Any, action: dict[str, Any]) -> Item:
    if action.get("type") != "button":
        return unknown("block_actions", raw)
    channel, shown = identifier(raw["channel"]["id"], 64), identifier(raw["message"]["ts"], 40)
    thread = raw["message"].get("thread_ts")
    user = identifier(raw["user"]["id"], 64)
    return Message(
        provider_id=identifier(f"{user}/{action['action_ts']}"),
        reference=identifier(f"{channel}/{action['action_ts']}"),
        sender=user,
        sender_name=person(raw["user"].get("name")),
        thread=None if thread is None else identifier(thread, 40),
        recipient=channel if thread is None else f"{channel}/{thread}",
        text=said(action["text"]["text"]),
        at=moment(action["action_ts"]),
        order=_order(action["action_ts"]),
        choice=str(action["value"]),
        answers=f"{channel}/{shown}",
    )


def _is_direct(event: dict[str, Any]) -> bool:
    return event.get("channel_type") == "im" or str(event["channel"]).startswith("D")


def _bots(raw: Any) -> list[str]:
    """Return the ids of the users that the app has in the workspace."""
    granted = raw.get("authorizations")
    found = [each.get("user_id") for each in granted] if isinstance(granted, list) else []
    return [str(user) for user in found if user]


def _plain(text: str, bots: Sequence[str]) -> str:
    """Return Slack's markup as plain text, without the mention of the bot."""
    for bot in bots:
        text = text.replace(f"<@{bot}>", " ")
    plain = _MARKUP.sub(lambda found: _written(found[1], found[2]), text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def _written(target: str, label: str | None) -> str:
    if target.startswith(("@", "#", "!")):
        return f"{target[0]}{label.lstrip('#@') if label else target[1:]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    return address if not label or label in address else f"{label} ({address})"


def _media(raw: Any) -> Media:
    mime = person(raw.get("mimetype"))
    kind = mime.partition("/")[0] if mime else "file"
    word = kind if kind in {"image", "audio", "video"} else "file"
    return Media(word, optional_identifier(raw.get("id")), mime, person(raw.get("name")))


def _order(ts: str) -> int:
    """Return the microseconds of a timestamp, which Slack keeps unique within a channel."""
    seconds, _, fraction = ts.partition(".")
    moment(seconds)
    return int(seconds) * 1_000_000 + int(fraction[:6].ljust(6, "0"))
