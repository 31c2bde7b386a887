"""The base of all contracts."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from turnloom.models.contracts.field_descriptions import Described


class Contract(Described, BaseModel):
    """A shape that refuses fields it does not know. Fields carry their sentence beneath them."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def rfc3339(at: datetime) -> str:
    """Write a time as we do everywhere: RFC 3339, UTC, six decimals."""
    # strftime writes the year 664 with three digits, which nobody reads.
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time from the database's clock. Pydantic's own form leaves out the decimals of a whole second."""


def _read_time(value: Any) -> Any:
    """Read a time that somebody else wrote; one without a zone is in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        return value
    at = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("in UTC it is outside the years 1 to 9999") from error
    return at


GivenMoment = Annotated[Moment, BeforeValidator(_read_time)]
"""A time that a caller or another system wrote, in RFC 3339; a day means its beginning, without a zone in UTC."""


def _as_share(value: Any) -> Any:
    """Read 95 and "95%" as 0.95, as people and language models write it. What is beyond an end is the end."""
    if isinstance(value, str):
        try:
            value = float(value.strip().removesuffix("%")) / (100 if "%" in value else 1)
        except ValueError:
            return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return min(max(value / 100 if value > 1 else value, 0), 1)


Confidence = Annotated[float, BeforeValidator(_as_share), Field(ge=0, le=1)]
"""How sure somebody is, from 0 to 1."""
