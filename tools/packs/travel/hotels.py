"""`travel.search_hotels`: find hotels in a city."""

from collections.abc import Iterator
from datetime import date

from pydantic import Field

from turnloom.models.contracts.artifact import Table, TableArtifact
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.knowledge import Finding
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.travel import overpass
from turnloom.tools.packs.travel.cities import look_up_city
from turnloom.tools.packs.travel.contracts import DEMO_DATA, CityName, Hotel
from turnloom.tools.packs.travel.open_meteo import find_place
from turnloom.tools.packs.travel.providers import OUTSIDE_ERRORS, is_live, outside, said_by
from turnloom.tools.registry import tool

_INVENTED = f"{DEMO_DATA}, an invented hotel at an invented price"
_NO_PRICES = "Prices and free rooms are unknown here: whether a hotel fits a budget is to be asked there."
_MOST = 10


class HotelSearch(Contract):
    """Where, when and for how much."""

    city: CityName
    """Name of the city, such as Kyoto."""
    check_in: date | None = None
    """Day of arrival, ISO 8601. Demo prices are the same on every day."""
    nights: int = Field(ge=1, le=60)
    """Number of nights."""
    budget: float | None = Field(None, gt=0, allow_inf_nan=False)
    """The highest price of one night, in the city's own currency."""


class Hotels(Contract):
    """Hotels: those with more stars first, then those with a lower price."""

    results: list[Hotel]
    """The hotels. Empty if none is found within the budget."""
    note: str | None = None
    """A remark that applies to all of them."""


def _table(found: Hotels) -> TableArtifact:
    rows: list[list[str | int | float | bool | None]] = [
        [hotel.name, hotel.area, hotel.stars, hotel.price_per_night, hotel.currency] for hotel in found.results
    ]
    columns = ["Hotel", "Area", "Stars", "Price per night", "Currency"]
    invented = any(hotel.source.startswith(DEMO_DATA) for hotel in found.results)
    return TableArtifact(
        title=f"Hotels ({DEMO_DATA})" if invented else "Hotels", data=Table(columns=columns, rows=rows)
    )


def _facts(found: Hotels) -> Iterator[Finding]:
    for index, hotel in enumerate(found.results):
        given = hotel.model_dump(exclude={"name", "source"}, exclude_none=True)
        path = f"results[{index}]"
        yield Finding(type="hotel", name=hotel.name, path=path, attributes=given, **said_by(hotel.source))


@tool(
    "travel.search_hotels",
    effect="read",
    timeout_s=15,
    remember_s=600,
    artifact=_table,
    facts=_facts,
    errors=OUTSIDE_ERRORS,
    asks=("city",),
    **outside("overpass", cache_s=86_400, per_tenant="30/minute"),
)
def search_hotels(query: HotelSearch, context: ToolContext) -> Hotels:
    """Find hotels in a city for some nights, within a budget if there is one. Prices may be unknown or demo data."""
    if is_live():
        found = overpass.hotels(find_place(query.city, context), _MOST, context)
        return Hotels(results=found, note=_NO_PRICES if found else None)
    city = look_up_city(query.city, context)
    hotels = [Hotel(**given, currency=city.currency, source=_INVENTED) for given in city.hotels]
    fitting = [hotel for hotel in hotels if query.budget is None or _price(hotel) <= query.budget]
    return Hotels(results=sorted(fitting, key=lambda hotel: (-(hotel.stars or 0), _price(hotel))))


def _price(hotel: Hotel) -> float:
    return hotel.price_per_night or 0.0
