"""Libraries that only some tools, channels and commands need. They come with an extra: `turnloom[web]`."""

from functools import cache
from importlib.util import find_spec

from turnloom.models.errors import Unavailable

EXTRAS = {
    "calendars": ("caldav", "icalendar"),
    "web": ("trafilatura",),
    "mcp": ("mcp", "uvicorn"),
    "channels": ("slack_sdk", "twilio"),
}
"""Extra -> the modules that it brings."""


@cache
def lacking(extra: str) -> str | None:
    """Return a sentence if an extra is not installed; otherwise None."""
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if not missing:
        return None
    return f"not installed: {', '.join(missing)}; run `pip install 'turnloom[{extra}]'`"


def require(extra: str, purpose: str) -> None:
    """Check that an extra is installed. `purpose` names what needs it.

    Raises:
        Unavailable: it is not. The message says how to install it.
    """
    if reason := lacking(extra):
        raise Unavailable(f"{purpose} cannot be used: {reason}")
