"""`travel.format_itinerary`: lay out a trip day by day, from the results of the other tools."""

import math
from datetime import date, timedelta
from itertools import pairwise

from pydantic import Field

from turnloom.models.contracts.artifact import Itinerary, ItineraryArtifact, ItineraryDay
from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.travel.attractions import Attractions
from turnloom.tools.packs.travel.contracts import Attraction, CityName, Hotel, WeatherDay
from turnloom.tools.packs.travel.hotels import Hotels
from turnloom.tools.packs.travel.weather import Weather
from turnloom.tools.registry import tool


class ItineraryRequest(Contract):
    """The parts of a trip. Each part may be a tool's whole result or the list in it."""

    city: CityName
    """Name of the city."""
    days: int = Field(ge=1, le=16)
    """Number of days."""
    attractions: Attractions | list[Attraction] | None = None
    """The result of travel.search_attractions; absent, null or empty if nothing was found."""
    weather: Weather | list[WeatherDay] | None = None
    """The result of travel.lookup_weather. Its first day is the first day of the trip."""
    hotels: Hotels | list[Hotel] | None = None
    """The result of travel.search_hotels. The first hotel becomes the stay."""


def _artifact(trip: Itinerary) -> ItineraryArtifact:
    return ItineraryArtifact(title="Itinerary", data=trip)


@tool("travel.format_itinerary", effect="read", inline=True, formatter=True, artifact=_artifact)
def format_itinerary(request: ItineraryRequest, _context: ToolContext) -> Itinerary:
    """Lay attractions, weather and hotels out as a trip, day by day. What is missing is left open and noted."""
    attractions = request.attractions.results if isinstance(request.attractions, Attractions) else request.attractions
    weather = request.weather.days if isinstance(request.weather, Weather) else request.weather
    hotels = request.hotels.results if isinstance(request.hotels, Hotels) else request.hotels
    visits = _split(_route(attractions or []), request.days)
    days = [_day(offset, places, weather or []) for offset, places in enumerate(visits)]
    stay = _stay(hotels[0]) if hotels else None
    return Itinerary(days=days, stay=stay, notes=_notes(request.city, visits, weather or [], hotels or []))


def _route(attractions: list[Attraction]) -> list[Attraction]:
    """Order the places so that each is followed by its nearest neighbour. The best known place comes first."""
    left = list(attractions)
    route = left[:1]
    del left[:1]
    while left:
        nearest = min(left, key=lambda place: _distance(route[-1], place))
        left.remove(nearest)
        route.append(nearest)
    return route


def _distance(a: Attraction, b: Attraction) -> float:
    """Return the distance in degrees of latitude, as if on a plane, which is exact enough within a city."""
    return math.hypot(a.lat - b.lat, (a.lon - b.lon) * math.cos(math.radians(a.lat)))


def _split(places: list[Attraction], parts: int) -> list[list[Attraction]]:
    """Cut a list into parts whose lengths differ by at most one, the longer parts first."""
    size, longer = divmod(len(places), parts)
    ends = [size * part + min(part, longer) for part in range(parts + 1)]
    return [places[start:end] for start, end in pairwise(ends)]


def _day(offset: int, places: list[Attraction], weather: list[WeatherDay]) -> ItineraryDay:
    morning, afternoon, evening = (_visit(part) for part in _split(places, 3))
    return ItineraryDay(
        date=_date(offset, weather),
        morning=morning,
        afternoon=afternoon,
        evening=evening,
        weather=_conditions(weather[offset]) if offset < len(weather) else None,
    )


def _date(offset: int, weather: list[WeatherDay]) -> date | None:
    if offset < len(weather):
        return weather[offset].date
    return weather[0].date + timedelta(days=offset) if weather else None


def _visit(places: list[Attraction]) -> str | None:
    return ", then ".join(f"{place.name} ({place.kind})" for place in places) or None


def _conditions(day: WeatherDay) -> str:
    rain = "" if day.precipitation_pct is None else f", {day.precipitation_pct:g} % chance of rain"
    return f"{day.summary}, {day.t_min_c:g} to {day.t_max_c:g} °C{rain}"


def _stay(hotel: Hotel) -> str:
    price = f"{hotel.price_per_night:g} {hotel.currency or ''}".rstrip() if hotel.price_per_night is not None else ""
    parts = (hotel.name, hotel.area, hotel.stars and f"{hotel.stars} stars", price and f"{price} per night")
    return ", ".join(part for part in parts if part)


def _notes(city: str, visits: list[list[Attraction]], weather: list[WeatherDay], hotels: list[Hotel]) -> list[str]:
    notes = []
    if not any(visits):
        notes.append(f"No attractions of {city} are known here, so the days are open.")
    elif not all(visits):
        notes.append("There are more days than attractions; some days are open.")
    if not weather:
        notes.append("The weather is missing, and with it the dates.")
    elif len(weather) < len(visits):
        notes.append(f"The weather is known for the first {len(weather)} of {len(visits)} days.")
    if not hotels:
        notes.append("There is no hotel yet.")
    return notes + [f"{stay.name}: {stay.source}." for stay in hotels[:1]]
