"""The structured parts of a reply, one model per kind."""

import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract


class Table(Contract):
    """Rows under named columns.

    Tools write cells in English. Words that the catalogue of the reply's language has are in that language: one, or
    several as in `double bed, single bed (2)`. True and false are yes and no.
    """

    columns: list[str]
    """Column titles, left to right."""
    rows: list[list[str | int | float | bool | None]]
    """One list of cells per row, as long as `columns`."""
    preview: int | None = Field(None, ge=1)
    """How many rows to show first, the rest on demand; None: all."""


class Comparison(Contract):
    """A few options side by side."""

    criteria: list[str]
    options: list[dict[str, Any]]
    """Each option: `name`, and a value per criterion."""


class Link(Contract):
    """A link to open."""

    url: str
    label: str
    expires_at: str | None = None
    """RFC 3339; None if it does not expire."""


class ItineraryDay(Contract):
    """One day of a trip."""

    date: datetime.date | None = None
    morning: str | None = None
    afternoon: str | None = None
    evening: str | None = None
    weather: str | None = None


class Itinerary(Contract):
    """A trip, day by day."""

    days: list[ItineraryDay]
    stay: str | None = None
    """Where to spend the night."""
    notes: list[str] = Field(default_factory=list)
    """Gaps in the plan, and facts worth knowing."""


class Fact(Contract):
    """One fact of a card."""

    label: str
    value: Any


class Card(Contract):
    """One thing with its facts."""

    subtitle: str | None = None
    facts: list[Fact]


class _Artifact(Contract):
    title: str
    sources: list[str] = Field(default_factory=list)
    """Ids of the steps it was made from."""


class TableArtifact(_Artifact):
    kind: Literal["table"] = "table"
    data: Table


class ComparisonArtifact(_Artifact):
    kind: Literal["comparison"] = "comparison"
    data: Comparison


class LinkArtifact(_Artifact):
    kind: Literal["link"] = "link"
    data: Link


class ItineraryArtifact(_Artifact):
    kind: Literal["itinerary"] = "itinerary"
    data: Itinerary


class CardArtifact(_Artifact):
    kind: Literal["card"] = "card"
    data: Card


Artifact = Annotated[
    TableArtifact | ComparisonArtifact | LinkArtifact | ItineraryArtifact | CardArtifact, Field(discriminator="kind")
]
"""A structured part of a reply."""
