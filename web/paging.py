"""Cut lists into pages, with a cursor that leads to the next one."""

import base64
import binascii
from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from pydantic import Field, TypeAdapter

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import Invalid
from turnloom.web.errors import fault

Place = TypeVar("Place")
Item = TypeVar("Item")


class PageQuery(Contract):
    """The page to show."""

    limit: int = Field(50, ge=1, le=200)
    """Items on the page, at most."""
    cursor: str | None = Field(None, max_length=1_000)
    """The `next_cursor` of the page before."""


def cut(items: list[Item], limit: int, place: Callable[[Item], Any]) -> tuple[list[Item], str | None]:
    """Return one page and the cursor of the next one. An item beyond the limit shows that there is a next page."""
    if len(items) <= limit:
        return items, None
    return items[:limit], base64.urlsafe_b64encode(orjson.dumps(place(items[limit - 1]))).decode().rstrip("=")


def read_cursor(shape: TypeAdapter[Place], cursor: str | None) -> Place | None:
    """Return the place that a cursor names; None without one.

    Raises:
        Invalid: the cursor is not of this list.
    """
    if cursor is None:
        return None
    try:
        return shape.validate_json(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        detail = "is not the next_cursor of a page of this list"
        raise Invalid(f"cursor: {detail}", faults=[fault("cursor", "bad_cursor", detail)]) from None
