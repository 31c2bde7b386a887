"""`dates.resolve_hint`: turn a user's words about time into the dates of a stay."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.time_zone import TimezoneHint
from turnloom.models.errors import NeedsInput
from turnloom.models.runtime.local_time import timezone_of
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.dates.stays import Stay, coming_weekend, read_stays
from turnloom.tools.registry import tool


class Hint(Contract):
    """The user's words about a time."""

    hint: str = Field(min_length=1, max_length=200)
    """Only the words about time, as the user wrote them: "next weekend", "2 nights from Friday", "12-14 December",
    "2026-12-05 to 2026-12-08". Numeric dates have the day first."""
    timezone: TimezoneHint = None
    """IANA name of the time zone that decides which day is today. Default, also for an unknown one: the user's own."""


class ResolvedStay(Contract):
    """The dates of a stay."""

    check_in: date
    """Day of arrival, ISO 8601."""
    check_out: date
    """Day of departure, ISO 8601. If the hint names one day, this is the day after it."""
    tz: str
    """The time zone used."""
    alternatives: list[Stay]
    """All readings of an ambiguous hint, beginning with the dates above. Empty if there is only one reading."""


def _readings(stay: ResolvedStay) -> dict[str, list[str]]:
    return {"dates": [_in_words(reading) for reading in stay.alternatives]} if stay.alternatives else {}


@tool("dates.resolve_hint", effect="read", inline=True, remember_s=86_400, asks=("hint",), readings=_readings)
def resolve_hint(query: Hint, context: ToolContext) -> ResolvedStay:
    """Turn a phrase about time into check-in and check-out dates. Use it whenever dates are not given as ISO dates.

    Raises:
        NeedsInput: the phrase names no stay that begins today or later. The choices are the two nights of the coming
            weekend, in words that this tool understands.
    """
    # The contract of the turn has already checked the user's time zone.
    tz = query.timezone or timezone_of(context.user)
    today = datetime.now(ZoneInfo(tz)).date()
    stays = read_stays(query.hint, today)
    if not stays:
        raise NeedsInput({"hint": [_in_words(stay) for stay in coming_weekend(today)]})
    likeliest = stays[0]
    alternatives = stays if len(stays) > 1 else []
    return ResolvedStay(check_in=likeliest.check_in, check_out=likeliest.check_out, tz=tz, alternatives=alternatives)


def _in_words(stay: Stay) -> str:
    days = (f"{day:%a} {day.day} {day:%b %Y}" for day in (stay.check_in, stay.check_out))
    return " to ".join(days)
