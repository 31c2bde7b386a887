"""Access of this pack's tools to the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager

from turnloom.models.connections.database import Transaction, transaction
from turnloom.models.errors import Conflict, NotFound, ToolFailed
from turnloom.models.ledger import users
from turnloom.tools.packs.meetings.invites import Meeting
from turnloom.tools.packs.meetings.store.meetings import MeetingSession


@contextmanager
def ledger() -> Iterator[Transaction]:
    """Open a transaction. Its `NotFound` and `Conflict` become a `ToolFailed`."""
    try:
        with transaction() as db:
            yield db
    except (NotFound, Conflict) as error:
        raise ToolFailed(str(error), code=error.code.upper()) from error


def meeting_of(db: Transaction, session: MeetingSession) -> Meeting:
    """Return a session together with its users."""
    organizer, counterpart = (users.get_user(db, session.tenant_id, user_id) for user_id in session.users)
    return Meeting(session, organizer, counterpart)
