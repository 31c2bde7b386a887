"""Ids in addresses: which ones there can be, and where one ends."""

from apiflask import APIFlask
from pydantic import TypeAdapter, ValidationError
from werkzeug.routing import PathConverter

from models.contracts.directory import IntegrationName
from models.contracts.turn import PARTS, Identifier
from models.errors import NotFound

_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_INTEGRATION: TypeAdapter[str] = TypeAdapter(IntegrationName)


class _ConversationId(PathConverter):
    """An id that may hold slashes. The address of a part of a conversation is never taken for that of another one."""

    regex = r"[^/].*?" + "".join(f"(?<!/{part})" for part in PARTS)


class _UserId(PathConverter):
    """An id that may hold slashes. The address of a user's accounts is never taken for that of another user."""

    regex = r"[^/].*?(?<!/accounts)"


def install(app: APIFlask) -> None:
    """Let routes name the ids in their addresses: `<conversation:…>`, `<user:…>`."""
    app.url_map.converters |= {"conversation": _ConversationId, "user": _UserId}


def known_id(text: str, noun: str) -> str:
    """Return an id that a conversation or a user may have.

    Raises:
        NotFound: none can.
    """
    try:
        return _IDENTIFIER.validate_python(text)
    except ValidationError:
        raise NotFound(f"there is no {noun} of that id; an id is 1-128 visible ASCII characters") from None


def known_integration(text: str) -> str:
    """Return a name that an integration may have.

    Raises:
        NotFound: none can.
    """
    try:
        return _INTEGRATION.validate_python(text)
    except ValidationError:
        raise NotFound("no integration can have this name") from None
