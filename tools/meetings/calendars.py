"""A user's calendar: when they are busy, and where a meeting is written.

Every user has one of ours, in the database; times that are held for a meeting are there, whatever else they have. Who
has an account `caldav` has a calendar elsewhere besides (`dav`), and their meetings are kept there.
"""

from dataclasses import dataclass
from uuid import UUID

from models.database import transaction
from models.ledger import calendars
from models.ledger.calendars import Interval
from models.ledger.users import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """A user's calendar with us; the shape of all calendars."""

    tenant_id: UUID
    user: User

    @property
    def is_ours(self) -> bool:
        """Whether what is held with us becomes the user's event."""
        return True

    def busy(self, window: Interval, but: str | None = None) -> list[Interval]:
        """Return when the user is busy within a window, in any order; without the event of one uid."""
        with transaction() as db:
            return calendars.busy(db, self.tenant_id, self.user.id, window, but)

    def write(self, uid: str, event: str) -> None:
        """Write an event, as iCalendar, in place of the one of its uid. Ours is held already, and final by a commit."""

    def remove(self, uid: str) -> None:
        """Take an event away, if it is there. What is held with us is given up by a commit."""
