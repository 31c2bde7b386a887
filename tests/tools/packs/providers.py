"""A local server that speaks like Open-Meteo, Wikipedia and Overpass, and fails like them."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.tools.serving import LocalServer
from turnloom.models.runtime.settings import settings

PLACES, FORECAST, WIKIPEDIA, OVERPASS = "/v1/search", "/v1/forecast", "/w/api.php", "/api/interpreter"

KYOTO = {
    "id": 1857910,
    "name": "Kyoto",
    "latitude": 35.02107,
    "longitude": 135.75385,
    "elevation": 54.0,
    "feature_code": "PPLA",
    "country_code": "JP",
    "timezone": "Asia/Tokyo",
    "population": 1459640,
    "country": "Japan",
    "admin1": "Kyoto",
}
PARIS = {
    "id": 2988507,
    "name": "Paris",
    "latitude": 48.85341,
    "longitude": 2.3488,
    "country_code": "FR",
    "timezone": "Europe/Paris",
    "country": "France",
    "admin1": "Île-de-France",
}
PARIS_IN_TEXAS = {
    "id": 4717560,
    "name": "Paris",
    "latitude": 33.66094,
    "longitude": -95.55551,
    "country_code": "US",
    "timezone": "America/Chicago",
    "country": "United States",
    "admin1": "Texas",
}

PAGES = [
    {"pageid": 1, "ns": 0, "title": "Kyoto", "lat": 35.01, "lon": 135.77, "dist": 900.1, "primary": "", "type": "city"},
    {
        "pageid": 2,
        "ns": 0,
        "title": "Nijō Castle",
        "lat": 35.0142,
        "lon": 135.7475,
        "dist": 1020.3,
        "primary": "",
        "type": "landmark",
    },
    {
        "pageid": 3,
        "ns": 0,
        "title": "Nakagyō-ku, Kyoto",
        "lat": 35.01,
        "lon": 135.75,
        "dist": 1100.0,
        "primary": "",
        "type": "adm3rd",
    },
    {
        "pageid": 4,
        "ns": 0,
        "title": "Nishiki Market",
        "lat": 35.005,
        "lon": 135.765,
        "dist": 1800.9,
        "primary": "",
        "type": None,
    },
]
TEXTS = {
    "2": {
        "pageid": 2,
        "ns": 0,
        "title": "Nijō Castle",
        "description": "Flatland castle in Kyoto, Japan",
        "descriptionsource": "local",
        "extract": "Nijō Castle is a flatland castle in Kyoto, Japan.",
    },
    "4": {"pageid": 4, "ns": 0, "title": "Nishiki Market"},
}
ELEMENTS = [
    {"type": "node", "id": 11, "lat": 35.0, "lon": 135.7, "tags": {"name": "小さな博物館", "tourism": "museum"}},
    {
        "type": "way",
        "id": 12,
        "center": {"lat": 35.01, "lon": 135.74},
        "nodes": [1, 2],
        "tags": {"name": "二条城", "name:en": "Nijo Castle", "tourism": "attraction", "wikidata": "Q715000"},
    },
    {"type": "way", "id": 13, "center": {"lat": 35.01, "lon": 135.74}, "tags": {"name:en": "Nijo Castle", "name": "x"}},
    {"type": "relation", "id": 14, "tags": {"name": "Nowhere", "tourism": "attraction"}},
    {"type": "node", "id": 15, "lat": 35.0, "lon": 135.7, "tags": {"tourism": "attraction"}},
]
HOTELS = [
    {"type": "node", "id": 21, "lat": 35.0, "lon": 135.7, "tags": {"name": "Inn", "tourism": "hotel", "stars": "many"}},
    {
        "type": "node",
        "id": 22,
        "lat": 35.0,
        "lon": 135.7,
        "tags": {"name": "Grand", "tourism": "hotel", "stars": "4S", "addr:suburb": "Gion"},
    },
]


def says(status: int = 200, body: Any = None, **headers: str) -> Callable[[Request], Response]:
    """Answer with a status, JSON or text, and headers, whose names have `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if isinstance(body, str):
        return lambda _: Response(body, status, named, content_type="text/html")
    return lambda _: _json(body, status, named)


class Providers:
    """The answers of the server by path, and the requests that it has received."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("").rstrip("/")
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.answers: dict[str, Callable[[Request], Response]] = {
            PLACES: self._places,
            FORECAST: self._forecast,
            WIKIPEDIA: self._wikipedia,
            OVERPASS: self._overpass,
        }
        self.places = [KYOTO]
        server.expect_request(re.compile(".*")).respond_with_handler(self._answer)

    def paths(self) -> list[str]:
        """Return the paths that were requested, in order."""
        return [path for path, _ in self.asked]

    def _answer(self, request: Request) -> Response:
        self.asked.append((request.path, request.args.to_dict() | request.form.to_dict()))
        return self.answers[request.path](request)

    def _places(self, request: Request) -> Response:
        """Return the matches of a name. Without a match there is no `results`."""
        found = [place for place in self.places if str(place["name"]).lower() == request.args["name"].lower()]
        return _json({"results": found, "generationtime_ms": 0.7} if found else {"generationtime_ms": 0.7})

    def _forecast(self, request: Request) -> Response:
        first, last = (date.fromisoformat(request.args[name]) for name in ("start_date", "end_date"))
        days = [(first + timedelta(days=offset)).isoformat() for offset in range((last - first).days + 1)]
        names = request.args["daily"].split(",")
        assert names == ["weather_code", "temperature_2m_max", "temperature_2m_min", "precipitation_probability_max"]
        figures: dict[str, list[Any]] = {"time": days}
        figures |= {name: [figure] * len(days) for name, figure in zip(names, (61, 18.4, 9.1, 55), strict=True)}
        units = {"time": "iso8601", "temperature_2m_max": "°C", "precipitation_probability_max": "%"}
        return _json({"latitude": 35, "timezone": "Asia/Tokyo", "daily_units": units, "daily": figures})

    def _wikipedia(self, request: Request) -> Response:
        if request.args.get("list") == "geosearch":
            return _json({"batchcomplete": "", "query": {"geosearch": PAGES}})
        wanted = request.args["pageids"].split("|")
        return _json({"batchcomplete": "", "query": {"pages": {key: TEXTS[key] for key in wanted}}})

    def _overpass(self, request: Request) -> Response:
        return _json({"version": 0.6, "elements": HOTELS if "tourism=hotel" in request.form["data"] else ELEMENTS})


@contextmanager
def live_providers() -> Iterator[Providers]:
    """Start the server, and let the travel tools use it."""
    with LocalServer() as server, pytest.MonkeyPatch.context() as patch:
        providers = Providers(server)
        for name, value in environment(providers.url).items():
            patch.setenv(name, value)
        settings.cache_clear()
        yield providers
    settings.cache_clear()


def environment(url: str) -> dict[str, str]:
    """Return the settings with which the travel tools use the server."""
    services = ("GEOCODING", "FORECAST", "WIKIPEDIA", "OVERPASS")
    return {"TURNLOOM_TRAVEL_PROVIDER": "live"} | {f"TURNLOOM_{name}_URL": url for name in services}


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status, headers, content_type="application/json")
