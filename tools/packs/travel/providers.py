"""Settings and declarations that all travel tools share which can call outside services (TURNLOOM_TRAVEL_PROVIDER)."""

from typing import Any

from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.travel.contracts import DEMO_DATA, OWN_DATA
from turnloom.tools.packs.travel.settings import TravelSettings

OUTSIDE_ERRORS = ("NOT_FOUND", "RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX")


def is_live() -> bool:
    """Whether outside services answer instead of the shipped data."""
    return settings().of(TravelSettings).travel_provider == "live"


def outside(integration: str, *, cache_s: float, per_tenant: str) -> dict[str, Any]:
    """Return the options of a tool that limit its calls of an outside service. Empty if it uses the shipped data."""
    return {"integration": integration, "cache_s": cache_s, "per_tenant": per_tenant} if is_live() else {}


def said_by(source: str) -> dict[str, Any]:
    """Return the fields of a finding that describe its source. Empty for the shipped data, which are our own."""
    own = source.startswith((OWN_DATA, DEMO_DATA))
    return {} if own else {"origin": source.partition(",")[0], "trust": "outside"}
