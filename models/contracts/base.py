"""The base of all contracts."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from turnloom.models.contracts.field_descriptions import Described


class Contract(Described, BaseModel):
    """A shape that refuses fields it does not know. Fields carry their sentence beneath them."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def rfc3339(at: datetime) -> str:
    """Write a time as we do everywhere: RFC 3339, UTC, six decimals."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time from the database's clock. Pydantic's own form leaves out the decimals of a whole second."""
