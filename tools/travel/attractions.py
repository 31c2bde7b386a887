"""`travel.search_attractions`: what to see in a city."""

from collections.abc import Iterator

from pydantic import Field

from models.contracts.base import Contract
from models.contracts.knowledge import Finding, Link
from tools.context import ToolContext
from tools.registry import tool
from tools.travel.cities import CityName, look_up_city

SOURCE = "Turnloom's own data set"


class AttractionSearch(Contract):
    """Where to look."""

    city: CityName
    """Name of the city, such as Kyoto."""
    limit: int = Field(5, ge=1, le=20)
    """Number of attractions, at most; a day holds three or so."""


class Attraction(Contract):
    """A place to see."""

    name: str
    """Name of the place."""
    kind: str
    """What it is: museum, temple, market, district and the like."""
    lat: float = Field(ge=-90, le=90)
    """Latitude in degrees, approximate."""
    lon: float = Field(ge=-180, le=180)
    """Longitude in degrees, approximate."""
    summary: str
    """One sentence about it."""
    source: str
    """Where this comes from."""


class Attractions(Contract):
    """Places to see, the best known first."""

    city: str
    """The city as the data set spells it."""
    results: list[Attraction]
    """The places."""


def _facts(found: Attractions) -> Iterator[Finding]:
    links = [Link(kind="has_attraction", type="attraction", name=place.name) for place in found.results]
    yield Finding(type="city", name=found.city, links=links)
    for index, place in enumerate(found.results):
        about = {"kind": place.kind, "summary": place.summary, "lat": place.lat, "lon": place.lon}
        yield Finding(type="attraction", name=place.name, path=f"results[{index}]", attributes=about)


@tool("travel.search_attractions", effect="read", remember_s=86_400, facts=_facts, errors=("NOT_FOUND",))
def search_attractions(query: AttractionSearch, context: ToolContext) -> Attractions:
    """Find the main sights of a city, the best known first, with coordinates."""
    city = look_up_city(query.city, context)
    results = [Attraction(**found, source=SOURCE) for found in city.attractions[: query.limit]]
    return Attractions(city=city.name, results=results)
