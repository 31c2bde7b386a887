"""A user's calendar: it says when the user is busy, and meetings are written into it.

Every user has a calendar of ours in the database. Times held for a meeting are always recorded there. A user with a
`caldav` account also has a calendar on a server (`dav`), and their meetings are kept there.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.ledger.users import DirectoryUser
from turnloom.tools.packs.meetings.store import calendars
from turnloom.tools.packs.meetings.store.calendars import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """A user's calendar in our database. Other calendars have the same interface."""

    tenant_id: UUID
    user: DirectoryUser

    @property
    def is_ours(self) -> bool:
        """Whether the time held in our database becomes the user's event."""
        return True

    def busy(self, window: Interval, but: Collection[str] = ()) -> list[Interval]:
        """Return the user's busy times within a window, in any order. Events with the uids in `but` do not count."""
        with transaction() as db:
            return calendars.busy(db, self.tenant_id, self.user.id, window, but)

    def write(self, uid: str, event: str) -> None:
        """Write an iCalendar event, or replace the one with this uid.

        Our own calendar does nothing here: it already holds the time, and a later commit makes it final.
        """

    def remove(self, uid: str) -> None:
        """Remove an event if it is there. Our own calendar does nothing here: a later commit gives up the time."""
