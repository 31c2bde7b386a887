"""Time zones by their IANA names."""

from functools import lru_cache
from typing import Annotated
from zoneinfo import available_timezones

from pydantic import AfterValidator


@lru_cache
def known_timezones() -> frozenset[str]:
    """Return the names of all time zones."""
    # The standard library reads the whole directory of time zones with every call.
    return frozenset(available_timezones())


def _known_timezone(name: str) -> str:
    if name not in known_timezones():
        raise ValueError("not an IANA time zone; write one such as 'Asia/Jerusalem'")
    return name


Timezone = Annotated[str, AfterValidator(_known_timezone)]
"""An IANA time zone, such as Asia/Jerusalem."""

TimezoneHint = Annotated[str | None, AfterValidator(lambda name: name if name in known_timezones() else None)]
"""An IANA time zone that a plan may give. An unknown one counts as absent, because the user's own is right then."""
