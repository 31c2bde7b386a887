"""Read what a provider posts. Each body is hostile until it is read: whatever cannot be read is kept as Unknown."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NoReturn

from turnloom.workers.channels.protocol import Edit, Item, Media, Message, Receipt, Unknown

MESSAGE_CHARS = 8_000
"""Most characters of a turn's message."""

_NAME_CHARS = 200
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")
_FAULTS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, RecursionError)
"""What reading a value of an unexpected shape may raise; OSError for a time out of range."""


def read_json(body: bytes) -> Any:
    """Return a body's JSON value, in which every string can be stored.

    Raises:
        ValueError, RecursionError: it is not JSON, or is nested too deeply.
    """
    return storable(json.loads(body.decode(), parse_constant=_refuse))


def storable(value: Any) -> Any:
    """Return a JSON value without NUL and halves of surrogate pairs, which Postgres does not take."""
    match value:
        case str():
            return _UNSTORABLE.sub("\ufffd", value)
        case dict():
            return {storable(name): storable(inner) for name, inner in value.items()}
        case list():
            return [storable(inner) for inner in value]
    return value


def unreadable(body: bytes, why: str = "the body cannot be read") -> Unknown:
    """Keep a whole body."""
    return Unknown("body", storable(body.decode("utf-8", "replace")), why)


def unknown(kind: Any, raw: Any, why: str = "this kind is not answered") -> Unknown:
    """Keep an item."""
    word = kind if isinstance(kind, str) and kind else "unknown"
    return Unknown(word[:80], json.dumps(raw, ensure_ascii=False, separators=(",", ":")), why)


def attempt(read: Callable[[Any], Item], raw: Any, kind: str) -> Item:
    """Read an item; keep it as Unknown if its shape is unexpected."""
    try:
        return read(raw)
    except _FAULTS as error:
        return unknown(kind, raw, f"it cannot be read: {type(error).__name__}")


def whole(read: Callable[[bytes], list[Item]], body: bytes) -> list[Item]:
    """Read a body; keep it as Unknown if its shape is unexpected. Messages come first, then the rest."""
    try:
        items = read(body)
    except _FAULTS:
        return [unreadable(body)]
    return sorted(items, key=lambda item: _RANKS[type(item)])


_RANKS: dict[type[Item], int] = {Message: 0, Edit: 1, Receipt: 2, Unknown: 3}


def listed(value: Any) -> list[Any]:
    """Return a list as it is, and nothing for an absent one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError("a list was expected")
    return value


def identifier(value: Any, most: int = 128) -> str:
    """Return an id as text: visible ASCII characters.

    Raises:
        ValueError: it is no such id.
    """
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or len(text) > most or not _VISIBLE.fullmatch(text):
        raise ValueError("an id of visible ASCII characters was expected")
    return text


def optional_identifier(value: Any) -> str | None:
    """Return an id as text; None if it is absent or no id."""
    try:
        return identifier(value)
    except ValueError:
        return None


def person(value: Any) -> str | None:
    """Return a name, cut to what is stored."""
    return value.strip()[:_NAME_CHARS] or None if isinstance(value, str) else None


def said(text: Any, media: tuple[Media, ...] = ()) -> str:
    """Return the text of a message, with its media noted in brackets before it.

    Raises:
        ValueError: it says nothing.
    """
    notes = [f"[{each.kind}{f' {each.name}' if each.name else ''}]" for each in media]
    words = " ".join([*notes, *([text.strip()] if isinstance(text, str) and text.strip() else [])])
    if not any(character.isprintable() and not character.isspace() for character in words):
        raise ValueError("the message says nothing")
    return words if len(words) <= MESSAGE_CHARS else f"{words[: MESSAGE_CHARS - 1]}…"


def moment(seconds: Any) -> datetime:
    """Return the time of a Unix time in seconds, as a number or in digits.

    Raises:
        ValueError, OverflowError: it is none.
    """
    return datetime.fromtimestamp(_within(float(seconds)), UTC)


def _within(seconds: float) -> float:
    if not 0 <= seconds < 2**33:
        raise ValueError("the time is out of range")
    return seconds


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
