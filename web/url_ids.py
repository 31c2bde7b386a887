"""Read ids in URL paths: where an id ends, and whether it can exist."""

import re
from uuid import UUID

from apiflask import APIFlask
from pydantic import TypeAdapter, ValidationError
from werkzeug.routing import PathConverter

from turnloom.models.contracts.turn import PARTS, Identifier
from turnloom.models.contracts.users import IntegrationName
from turnloom.models.errors import NotFound

_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_INTEGRATION: TypeAdapter[str] = TypeAdapter(IntegrationName)


class _ConversationId(PathConverter):
    """A conversation's id, which may hold slashes. The URL of a conversation's part is never read as a longer id."""

    regex = r"[^/].*?" + "".join(f"(?<!/{part})" for part in PARTS)


class _UserId(PathConverter):
    """A user's id, which may hold slashes. The URL of a user's accounts is never read as a longer id."""

    regex = r"[^/].*?(?<!/accounts)"


def install(app: APIFlask) -> None:
    """Let routes declare ids in their URLs: `<conversation:…>`, `<user:…>`."""
    app.url_map.converters |= {"conversation": _ConversationId, "user": _UserId}


def known_id(text: str, noun: str) -> str:
    """Return the text if a conversation or a user can have it as its id.

    Raises:
        NotFound: no such id can exist.
    """
    try:
        return _IDENTIFIER.validate_python(text)
    except ValidationError:
        raise NotFound(f"there is no {noun} of that id; an id is 1-128 visible ASCII characters") from None


def uuid_of(text: str, noun: str) -> UUID:
    """Read an id of ours.

    Raises:
        NotFound: the text is none.
    """
    try:
        return UUID(text)
    except ValueError:
        raise NotFound(f"there is no {noun} of that id") from None


def part_number(text: str) -> int:
    """Read the number of a part of a reply.

    Raises:
        NotFound: no part can have it.
    """
    if re.fullmatch(r"[0-9]{1,9}", text) is None:
        raise NotFound("there is no part of that number")
    return int(text)


def known_integration(text: str) -> str:
    """Return the text if an integration can have it as its name.

    Raises:
        NotFound: no such name can exist.
    """
    try:
        return _INTEGRATION.validate_python(text)
    except ValidationError:
        raise NotFound("no integration can have this name") from None
