"""The contract of the dates pack."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import time_machine

from tests.tools.packs.contracts.cases import Asks, Contract, Valid

WITHOUT_DATABASE = {"dates.resolve_hint"}


@contextmanager
def world() -> Iterator[None]:
    """Set the clock to a Friday in November."""
    with time_machine.travel(datetime(2026, 11, 20, 9, tzinfo=UTC), tick=True):
        yield


CONTRACT: Contract = {
    "dates.resolve_hint": [
        Valid(
            {"hint": "tomorrow"},
            gives={"check_in": "2026-11-21", "check_out": "2026-11-22", "tz": "Asia/Jerusalem", "alternatives": []},
        ),
        Valid({"hint": "today", "timezone": "Pacific/Kiritimati"}, gives={"tz": "Pacific/Kiritimati"}),
        Valid(
            {"hint": "next weekend"}, gives={"alternatives": [{"check_in": "2026-11-27"}, {"check_in": "2026-11-28"}]}
        ),
        Valid({"hint": "today"}, gives={"tz": "Asia/Tokyo"}, context={"user": {"timezone": "Asia/Tokyo"}}),
        Valid({"hint": "tomorrow", "timezone": "Mars/Olympus"}, gives={"tz": "Asia/Jerusalem"}),
        Asks(
            {"hint": "some day"}, {"hint": ["Fri 20 Nov 2026 to Sat 21 Nov 2026", "Sat 21 Nov 2026 to Sun 22 Nov 2026"]}
        ),
        Asks({"hint": "yesterday"}, "hint"),
    ],
}
