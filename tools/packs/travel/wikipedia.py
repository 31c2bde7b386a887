"""Sights near a place that have an article on Wikipedia: https://www.mediawiki.org/wiki/API:Geosearch."""

from pydantic import Field

from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.http.upstream import Params, Shape, get_shape
from turnloom.tools.packs.travel.contracts import Attraction
from turnloom.tools.packs.travel.open_meteo import Place
from turnloom.tools.packs.travel.settings import TravelSettings

_RADIUS_M = 10_000
_CANDIDATES = 50
_NO_SIGHTS = ("country", "state", "adm", "city", "isle", "railwaystation")
"""Prefixes of the types of articles that are not about a sight."""
_FIRST_SENTENCES = {"exintro": 1, "explaintext": 1, "exsentences": 1, "exlimit": 20}
_PASSING = ("ratelimited", "maxlag", "readonly")


class _Page(Shape):
    pageid: int
    title: str
    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)
    type: str | None = None


class _Text(Shape):
    description: str = ""
    extract: str = ""


class _Fault(Shape):
    code: str
    info: str = ""


class _Query(Shape):
    geosearch: list[_Page] = Field(default_factory=list)
    pages: dict[str, _Text] = Field(default_factory=dict)
    """Texts by page id."""


class _Answer(Shape):
    query: _Query = Field(default_factory=_Query)
    error: _Fault | None = None
    """The service reports a failure here, with HTTP 200."""


def sights(place: Place, limit: int, context: ToolContext) -> list[Attraction]:
    """Return the sights within ten kilometres of a place that have an article, the most relevant first."""
    near: Params = {
        "list": "geosearch",
        "gscoord": f"{place.latitude}|{place.longitude}",
        "gsradius": _RADIUS_M,
        "gslimit": _CANDIDATES,
        "gsprop": "type",
        # Without this the nearest come first: in a large city these are the shops of its central square.
        "gssort": "relevance",
    }
    found = [page for page in _ask(near, context).geosearch if _is_sight(page, place)][:limit]
    if not found:
        return []
    ids = "|".join(str(page.pageid) for page in found)
    texts = _ask({"prop": "description|extracts", "pageids": ids, **_FIRST_SENTENCES}, context).pages
    return [_attraction(page, texts.get(str(page.pageid), _Text())) for page in found]


def _ask(params: Params, context: ToolContext) -> _Query:
    params = {"action": "query", "format": "json", **params}
    answer = get_shape(_Answer, f"{settings().of(TravelSettings).wikipedia_url}/w/api.php", params, context)
    if answer.error is None:
        return answer.query
    message = f"Wikipedia refuses: {answer.error.info or answer.error.code}"[:300]
    if answer.error.code in _PASSING:
        raise Unavailable(message, code="RATE_LIMITED")
    raise ToolFailed(message, code="UPSTREAM_4XX")


def _is_sight(page: _Page, place: Place) -> bool:
    return page.title.casefold() != place.name.casefold() and not (page.type or "").startswith(_NO_SIGHTS)


def _attraction(page: _Page, text: _Text) -> Attraction:
    return Attraction(
        name=page.title[:200],
        kind=text.description.split(" in ", 1)[0][:60] or "place",
        lat=page.lat,
        lon=page.lon,
        summary=(text.extract or text.description).strip()[:300],
        source=f"Wikipedia, {settings().of(TravelSettings).wikipedia_url}/?curid={page.pageid}",
    )
