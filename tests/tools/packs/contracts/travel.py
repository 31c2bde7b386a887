"""The contract of the travel pack, over the shipped data. A local server supplies the failures of a provider."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tests.tools.packs.contracts.cases import Asks, Case, Contract, Fails, Refused, Valid
from tests.tools.packs.providers import FORECAST, OVERPASS, PLACES, WIKIPEDIA, live_providers, says

PLACE = {"name": "Pantheon", "kind": "temple", "lat": 41.9, "lon": 12.5, "summary": "A dome.", "source": "a guide"}

_FAILURES = {
    "UPSTREAM_4XX": says(400, {"error": True, "reason": "because"}),
    "UPSTREAM_5XX": says(503, Retry_After="60"),
    "RATE_LIMITED": says(429, Retry_After="60"),
}


def failing(code: str, *paths: str) -> Callable[[], AbstractContextManager[None]]:
    """Let the providers' services at these paths fail."""

    @contextmanager
    def given() -> Iterator[None]:
        with live_providers() as providers:
            providers.answers |= dict.fromkeys(paths, _FAILURES[code])
            yield

    return given


def failures(args: dict[str, object], *paths: str) -> list[Case]:
    """Return a case for each failure of the service that the tool asks last."""
    known: list[Case] = [
        Fails(args | {"city": "Atlantis"}, "NOT_FOUND", "Kyoto"),
        Asks(args | {"city": "Kyotto"}, {"city": ["Kyoto"]}),
    ]
    known += [Fails(args, code, given=failing(code, *paths)) for code in _FAILURES]  # type: ignore[arg-type]
    return [*known, Fails(args, "UPSTREAM_4XX", "because", given=failing("UPSTREAM_4XX", PLACES))]


CONTRACT: Contract = {
    "travel.search_attractions": [
        Valid({"city": "Kyoto", "limit": 1}, gives={"city": "Kyoto", "results": [{"name": "Fushimi Inari Taisha"}]}),
        Valid({"city": "Roma"}, gives={"city": "Rome", "results": [...] * 5}),
        *failures({"city": "Kyoto"}, WIKIPEDIA, OVERPASS),
    ],
    "travel.lookup_weather": [
        Valid(
            {"city": "Kyoto", "start": "2027-07-20", "days": 2},
            gives={"tz": "Asia/Tokyo", "days": [{"date": "2027-07-20"}, {"date": "2027-07-21"}]},
        ),
        Valid({"city": "Rome"}, gives={"days": [...] * 3}),
        *failures({"city": "Kyoto"}, FORECAST),
    ],
    "travel.search_hotels": [
        Valid({"city": "Kyoto", "check_in": "2027-04-01", "nights": 2}, gives={"results": [{"currency": "JPY"}] * 4}),
        Valid({"city": "Berlin", "nights": 2, "budget": 1}, gives={"results": []}),
        *failures({"city": "Kyoto", "nights": 1}, OVERPASS),
    ],
    "travel.search_flights": [
        Valid(
            {"origin": "Tel Aviv", "destination": "Kyoto", "depart": "2030-05-01", "return": "2030-05-08"},
            gives={
                "origin": "Tel Aviv",
                "destination": "Kyoto",
                "results": [
                    {
                        "direction": "outbound",
                        "origin": "TLV",
                        "destination": "KIX",
                        "stops": ["IST"],
                        "currency": "USD",
                    },
                    {"direction": "outbound", "departs": "2030-05-01T07:50:00+03:00", "stops": []},
                    {"direction": "return", "origin": "KIX", "destination": "TLV"},
                    {"direction": "return", "departs": "2030-05-08T10:20:00+09:00"},
                ],
            },
        ),
        Valid({"origin": "jfk", "destination": "LHR", "depart": "2030-05-01"}, gives={"origin": "New York"}),
        Refused({"origin": "Rome", "destination": "Paris", "depart": "2030-05-02", "return": "2030-05-01"}, "return"),
        Refused({"origin": "Rome", "destination": "Paris", "depart": "9999-12-31"}, "depart"),
        Fails({"origin": "Rome", "destination": "Atlantis", "depart": "2030-05-01"}, "NOT_FOUND", "Kyoto"),
        Fails({"origin": "Osaka", "destination": "Kyoto", "depart": "2030-05-01"}, "NOT_FOUND", "KIX"),
    ],
    "travel.format_itinerary": [
        Valid(
            {"city": "Rome", "days": 1, "attractions": [PLACE]},
            gives={"days": [{"date": None, "morning": "Pantheon (temple)"}], "stay": None},
        ),
        Valid({"city": "Rome", "days": 2}, gives={"days": [...] * 2, "notes": [...] * 3}),
    ],
}
