"""`travel.search_hotels`: demo hotels of a city."""

from collections.abc import Iterator
from datetime import date

from pydantic import Field

from models.contracts.artifact import Table, TableArtifact
from models.contracts.base import Contract
from models.contracts.knowledge import Finding
from tools.context import ToolContext
from tools.registry import tool
from tools.travel.cities import CityName, look_up_city

DEMO_SOURCE = "demo data, an invented hotel at an invented price"


class HotelSearch(Contract):
    """Where, when and for how much."""

    city: CityName
    """Name of the city, such as Kyoto."""
    check_in: date | None = None
    """Day of arrival, ISO 8601. Demo prices are the same on every day."""
    nights: int = Field(ge=1, le=60)
    """Number of nights."""
    budget: float | None = Field(None, gt=0, allow_inf_nan=False)
    """The most that one night may cost, in the city's own currency."""


class Hotel(Contract):
    """A place to sleep."""

    name: str
    """Name of the hotel."""
    area: str
    """Its part of the city."""
    stars: int = Field(ge=1, le=5)
    """One to five."""
    price_per_night: float | None = None
    """Price of one night, where it is known."""
    currency: str | None = None
    """ISO 4217 code of the price."""
    source: str
    """Where this comes from."""


class Hotels(Contract):
    """Places to sleep: more stars first, then the lower price."""

    results: list[Hotel]
    """The hotels; none where nothing fits the budget."""


def _table(found: Hotels) -> TableArtifact:
    rows: list[list[str | int | float | bool | None]] = [
        [hotel.name, hotel.area, hotel.stars, hotel.price_per_night, hotel.currency] for hotel in found.results
    ]
    columns = ["Hotel", "Area", "Stars", "Price per night", "Currency"]
    return TableArtifact(title="Hotels (demo data)", data=Table(columns=columns, rows=rows))


def _facts(found: Hotels) -> Iterator[Finding]:
    for index, hotel in enumerate(found.results):
        given = {"area": hotel.area, "stars": hotel.stars}
        if hotel.price_per_night is not None and hotel.currency is not None:
            given |= {"price_per_night": hotel.price_per_night, "currency": hotel.currency}
        yield Finding(type="hotel", name=hotel.name, path=f"results[{index}]", attributes=given)


@tool(
    "travel.search_hotels", effect="read", remember_s=600, artifact=_table, facts=_facts, errors=("NOT_FOUND",)
)
def search_hotels(query: HotelSearch, context: ToolContext) -> Hotels:
    """Find hotels in a city for some nights, within a budget if there is one. Hotels and prices are demo data."""
    city = look_up_city(query.city, context)
    hotels = [Hotel(**found, currency=city.currency, source=DEMO_SOURCE) for found in city.hotels]
    fitting = [hotel for hotel in hotels if query.budget is None or _price(hotel) <= query.budget]
    return Hotels(results=sorted(fitting, key=lambda hotel: (-hotel.stars, _price(hotel))))


def _price(hotel: Hotel) -> float:
    return hotel.price_per_night or 0.0
