"""Access of this pack's tools to the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager

from turnloom.models.connections.database import Transaction, transaction
from turnloom.models.errors import Conflict, NotFound, ToolFailed
from turnloom.models.ledger import users
from turnloom.models.ledger.notifications import Notice, notify, settle
from turnloom.tools.packs.meetings.invites import Meeting
from turnloom.tools.packs.meetings.store.meetings import MeetingSession
from turnloom.tools.packs.meetings.times import in_words

PROPOSED, CONFIRMED = "meeting.proposed", "meeting.confirmed"


@contextmanager
def ledger() -> Iterator[Transaction]:
    """Open a transaction. Its `NotFound` and `Conflict` become a `ToolFailed`."""
    try:
        with transaction() as db:
            yield db
    except (NotFound, Conflict) as error:
        raise ToolFailed(str(error), code=error.code.upper()) from error


def meeting_of(db: Transaction, session: MeetingSession, acts: str | None = None) -> Meeting:
    """Return a session together with its users. `acts`: the id of the one who asks; None for the organizer."""
    organizer, counterpart = (users.get_user(db, session.tenant_id, user_id) for user_id in session.users)
    return Meeting(session, organizer, counterpart, acts)


def tell_proposal(db: Transaction, meeting: Meeting) -> None:
    """Notify the counterpart of the times that a new session proposes, in place of earlier ones."""
    session, counterpart = meeting.session, meeting.counterpart
    times = "; ".join(
        f"{number}. {in_words(at, counterpart.timezone)}" for number, at in enumerate(session.proposals, 1)
    )
    notice = Notice(
        user_id=counterpart.id,
        kind=PROPOSED,
        title=f"{meeting.organizer.name} proposes times to meet you",
        body=f"{times}. Say which of them you confirm, or wait for {meeting.organizer.name} to choose.",
        about={"session_id": str(session.id), "organizer": session.user_id, "counterpart": counterpart.id},
        conversation_id=session.conversation_id,
    )
    settle(db, session.tenant_id, PROPOSED, {"organizer": session.user_id, "counterpart": counterpart.id}, "replaced")
    notify(db, session.tenant_id, notice)


def settle_proposal(db: Transaction, session: MeetingSession) -> None:
    """Settle the notification of a session's times, because one has been confirmed."""
    settle(db, session.tenant_id, PROPOSED, {"session_id": str(session.id)}, "confirmed")
