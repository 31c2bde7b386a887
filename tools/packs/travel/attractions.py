"""`travel.search_attractions`: find the sights of a city."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.knowledge import EntityLink, Finding
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.travel import overpass, wikipedia
from turnloom.tools.packs.travel.cities import look_up_city
from turnloom.tools.packs.travel.contracts import OWN_DATA, Attraction, CityName
from turnloom.tools.packs.travel.open_meteo import Place, find_place
from turnloom.tools.packs.travel.providers import OUTSIDE_ERRORS, is_live, outside, said_by
from turnloom.tools.registry import tool


class AttractionSearch(Contract):
    """The place to search in."""

    city: CityName
    """Name of the city, such as Kyoto."""
    limit: int = Field(5, ge=1, le=20)
    """The largest number of attractions; about three fit into a day."""


class Attractions(Contract):
    """Places to see, the best known first."""

    city: str
    """Name of the city as the source spells it."""
    results: list[Attraction]
    """The places to see."""


def _facts(found: Attractions) -> Iterator[Finding]:
    links = [EntityLink(kind="has_attraction", type="attraction", name=place.name) for place in found.results]
    yield Finding(type="city", name=found.city, links=links)
    for index, place in enumerate(found.results):
        about = {"kind": place.kind, "summary": place.summary, "lat": place.lat, "lon": place.lon}
        path = f"results[{index}]"
        yield Finding(type="attraction", name=place.name, path=path, attributes=about, **said_by(place.source))


@tool(
    "travel.search_attractions",
    effect="read",
    timeout_s=15,
    remember_s=86_400,
    facts=_facts,
    errors=OUTSIDE_ERRORS,
    asks=("city",),
    **outside("wikipedia", cache_s=86_400, per_tenant="60/minute"),
)
def search_attractions(query: AttractionSearch, context: ToolContext) -> Attractions:
    """Find the main sights of a city, the best known first, with coordinates."""
    if is_live():
        place = find_place(query.city, context)
        return Attractions(city=place.name, results=_sights(place, query.limit, context))
    city = look_up_city(query.city, context)
    results = [Attraction(**found, source=OWN_DATA) for found in city.attractions[: query.limit]]
    return Attractions(city=city.name, results=results)


def _sights(place: Place, limit: int, context: ToolContext) -> list[Attraction]:
    """Ask Wikipedia. If it finds nothing, fails, or takes more than half of the time, ask OpenStreetMap."""
    half = replace(context, deadline=time.monotonic() + context.remaining_s / 2)
    with suppress(ToolFailed, Unavailable, TimeoutError):
        if found := wikipedia.sights(place, limit, half):
            return found
    return overpass.sights(place, limit, context)
