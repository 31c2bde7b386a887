"""The calendars of several people are read together."""

import threading
from collections.abc import Collection
from dataclasses import dataclass

import pytest

from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import at
from turnloom.models.errors import Unavailable
from turnloom.models.ledger.users import DirectoryUser
from turnloom.tools.packs.meetings.calendars import Calendar
from turnloom.tools.packs.meetings.free_busy import busy_times
from turnloom.tools.packs.meetings.store.calendars import Interval

WINDOW = at("2026-11-23T09:00Z", 480)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting(Calendar):
    """A calendar that answers once all calendars are being read."""

    all_read: threading.Barrier
    found: list[Interval] | Unavailable

    def busy(self, window: Interval, but: Collection[str] = ()) -> list[Interval]:
        assert (window, but) == (WINDOW, ("u",))
        self.all_read.wait(5)
        if isinstance(self.found, Unavailable):
            raise self.found
        return self.found


@pytest.fixture
def user() -> DirectoryUser:
    return DirectoryUser(
        id="noa",
        name="Noa",
        email=None,
        timezone="UTC",
        locale="en",
        working_hours={},
        scopes=frozenset(),
        created_at=WINDOW.starts,
    )


def test_calendars_are_read_side_by_side(user: DirectoryUser) -> None:
    """None waits for another. Their busy times come in the order of the calendars."""
    together, found = threading.Barrier(3), [[at("2026-11-23T10:00Z")], [], [at("2026-11-23T11:00Z")]]
    calendars = [Meeting(tenant_id=TENANT, user=user, all_read=together, found=each) for each in found]

    assert busy_times(calendars, WINDOW, ("u",)) == found


def test_the_failure_of_a_calendar_is_the_callers(user: DirectoryUser) -> None:
    """It is raised when the other calendars have been read too."""
    together = threading.Barrier(2)
    answers: list[list[Interval] | Unavailable] = [[], Unavailable("its server is out", code="UPSTREAM_5XX")]
    calendars = [Meeting(tenant_id=TENANT, user=user, all_read=together, found=each) for each in answers]

    with pytest.raises(Unavailable, match="its server is out"):
        busy_times(calendars, WINDOW, ("u",))
