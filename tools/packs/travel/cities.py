"""The cities of the shipped data set, from `data/`."""

import json
import time
import unicodedata
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import NeedsInput, ToolFailed
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.travel.settings import TravelSettings

_DATA = Path(__file__).parent / "data"
_NEAR = 0.8
"""How alike two names must be for one to be a misspelling of the other, from 0 to 1."""


class Climate(Contract):
    """Climate normals of the twelve months."""

    about: str
    t_min_c: list[float] = Field(min_length=12, max_length=12)
    t_max_c: list[float] = Field(min_length=12, max_length=12)
    precipitation_pct: list[float] = Field(min_length=12, max_length=12)
    """Share of days with rain or snow, in per cent."""


class City(Contract):
    """One file of the data set."""

    name: str
    country: str
    aliases: list[str]
    timezone: str
    currency: str
    climate: Climate
    attractions: list[dict[str, Any]]
    """Attractions without `source`, the best known first."""
    hotels_about: str
    hotels: list[dict[str, Any]]
    """Hotels without `currency` and `source`."""


def look_up_city(name: str, context: ToolContext) -> City:
    """Return a city of the data set, after a pause.

    Raises:
        NeedsInput: the data set has no such city, but some with nearly this name. They are the choices.
        ToolFailed: NOT_FOUND, the data set has no such city. The message lists its cities.
    """
    pause(context)
    try:
        return find_city(name)
    except ToolFailed:
        near = get_close_matches(_key(name), _cities(), n=3, cutoff=_NEAR)
        if not near:
            raise
    raise NeedsInput({"city": list(dict.fromkeys(_cities()[key].name for key in near))})


def pause(context: ToolContext) -> None:
    """Wait for TURNLOOM_TRAVEL_LATENCY_MS, but not beyond the deadline, to imitate the latency of a provider."""
    time.sleep(min(settings().of(TravelSettings).travel_latency_ms / 1000, context.remaining_s))


def find_city(name: str) -> City:
    """Return the city with this name. Case, accents and a country after a comma are ignored.

    Raises:
        ToolFailed: NOT_FOUND, the data set has no such city. The message lists its cities.
    """
    cities = _cities()
    city = cities.get(_key(name)) or cities.get(_key(name.split(",", 1)[0]))
    if city is None:
        known = ", ".join(sorted({city.name for city in cities.values()}))
        raise ToolFailed(f"there is no data for {name!r}; known cities: {known}", code="NOT_FOUND")
    return city


@lru_cache
def _cities() -> dict[str, City]:
    files = sorted(_DATA.glob("*.json"))
    cities = [City.model_validate(json.loads(file.read_text(encoding="utf-8"))) for file in files]
    return {_key(name): city for city in cities for name in (city.name, *city.aliases)}


def _key(name: str) -> str:
    """Return the letters and digits of a name, without case and Latin accents."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in letters if letter.isalnum())
