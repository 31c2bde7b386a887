"""What is the same for all travel tools that ask outside services where TURNLOOM_TRAVEL_PROVIDER says so."""

from typing import Any

from models.settings import settings
from tools.travel.contracts import DEMO_DATA, OWN_DATA

OUTSIDE_ERRORS = ("NOT_FOUND", "RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX")


def is_live() -> bool:
    """True where outside services answer, and not the shipped data."""
    return settings().travel_provider == "live"


def outside(integration: str, *, cache_s: float, per_tenant: str) -> dict[str, Any]:
    """Return what a tool declares so that it spares the outside service it asks; shipped data needs none of it."""
    return {"integration": integration, "cache_s": cache_s, "per_tenant": per_tenant} if is_live() else {}


def said_by(source: str) -> dict[str, Any]:
    """Return what a finding says of a source: the shipped data are a tool's own word, the rest is what others say."""
    own = source.startswith((OWN_DATA, DEMO_DATA))
    return {} if own else {"origin": source.partition(",")[0], "trust": "outside"}
