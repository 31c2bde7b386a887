"""The settings of the travel pack."""

from typing import Literal

from pydantic import Field

from turnloom.models.runtime.environment_settings import EnvironmentSettings


class TravelSettings(EnvironmentSettings):
    """The settings of the travel pack."""

    travel_latency_ms: int = Field(0, ge=0, le=10_000)
    """Pause before the travel tools answer from shipped data, like a provider's delay; for demos and load tests."""
    travel_provider: Literal["offline", "live"] = "offline"
    """Source of the travel tools: `offline` is the shipped data, `live` the keyless services below."""
    geocoding_url: str = "https://geocoding-api.open-meteo.com"
    """Open-Meteo's search for places, for `live` travel."""
    forecast_url: str = "https://api.open-meteo.com"
    """Open-Meteo's forecast, for `live` travel."""
    wikipedia_url: str = "https://en.wikipedia.org"
    """The Wikipedia whose articles are the sights of `live` travel."""
    overpass_url: str = "https://overpass-api.de"
    """An Overpass server, for the hotels of `live` travel, and for its sights if Wikipedia has none."""
