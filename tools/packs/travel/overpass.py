"""Sights and hotels near a place, from OpenStreetMap through Overpass: https://wiki.openstreetmap.org/wiki/Overpass_API.

It has no prices. The licence of the data, ODbL, requires naming its contributors.
"""

from pydantic import Field

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.http.upstream import Shape, UpstreamRequest, post
from turnloom.tools.packs.travel.contracts import Attraction, Hotel
from turnloom.tools.packs.travel.open_meteo import Place
from turnloom.tools.packs.travel.settings import TravelSettings

SOURCE = "© OpenStreetMap contributors"

_RADIUS_M = 3_000
_LONGEST_S = 25
_CANDIDATES = 200
_AREAS = ("addr:suburb", "addr:district", "addr:quarter", "addr:neighbourhood", "addr:street")


class _Point(Shape):
    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)


class _Element(Shape):
    lat: float | None = None
    lon: float | None = None
    center: _Point | None = None
    """The centre of an element that is more than a point."""
    tags: dict[str, str] = Field(default_factory=dict)

    @property
    def point(self) -> _Point | None:
        """The place of the element."""
        if self.lat is None or self.lon is None:
            return self.center
        return _Point(lat=self.lat, lon=self.lon)

    @property
    def name(self) -> str:
        """The English name, otherwise the local one."""
        return (self.tags.get("name:en") or self.tags.get("name") or "")[:200]

    @property
    def stars(self) -> int | None:
        """One to five stars, read from values such as `4`, `4S` or `4.5`."""
        first = self.tags.get("stars", "")[:1]
        return int(first) if first in tuple("12345") else None


class _Answer(Shape):
    elements: list[_Element]
    remark: str = ""
    """If the service ran out of time or memory, it says so here, with HTTP 200."""


def sights(place: Place, limit: int, context: ToolContext) -> list[Attraction]:
    """Return attractions and museums within three kilometres of a place, those with an entry in Wikidata first."""
    found = sorted(_near(place, '[tourism~"^(attraction|museum)$"]', context), key=lambda it: "wikidata" not in it.tags)
    return [
        Attraction(
            name=it.name,
            kind=it.tags.get("tourism", "place"),
            lat=point.lat,
            lon=point.lon,
            summary=(it.tags.get("description:en") or it.tags.get("description") or "")[:300],
            source=SOURCE,
        )
        for it in found
        if (point := it.point)
    ][:limit]


def hotels(place: Place, limit: int, context: ToolContext) -> list[Hotel]:
    """Return hotels within three kilometres of a place, those with more stars first, without prices."""
    found = sorted(_near(place, "[tourism=hotel]", context), key=lambda it: (-(it.stars or 0), it.name))
    return [
        Hotel(
            name=it.name,
            area=next((it.tags[key][:100] for key in _AREAS if key in it.tags), None),
            stars=it.stars,
            source=f"{SOURCE}, who know no prices",
        )
        for it in found[:limit]
    ]


def _near(place: Place, condition: str, context: ToolContext) -> list[_Element]:
    """Return the elements with a name that meet a condition. Each name occurs once."""
    time_s = max(1, min(_LONGEST_S, int(context.remaining_s)))
    # A search that the service could not finish is tried again in a smaller circle.
    around = f"around:{_RADIUS_M >> context.tries},{place.latitude},{place.longitude}"
    query = f"[out:json][timeout:{time_s}];nwr({around}){condition}[name];out center {_CANDIDATES};"
    request = UpstreamRequest(url=f"{settings().of(TravelSettings).overpass_url}/api/interpreter", form={"data": query})
    answer = post(request, context).shaped(_Answer)
    if answer.remark.startswith("runtime error"):
        raise Unavailable("Overpass could not finish its search", code="UPSTREAM_5XX")
    named: dict[str, _Element] = {}
    for element in answer.elements:
        named.setdefault(element.name, element)
    return [element for name, element in named.items() if name]
