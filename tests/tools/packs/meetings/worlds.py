"""Situations between Noa and David in which a tool of the pack is called: proposals, meetings, trouble."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

from sqlalchemy import text

from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import FRIDAY, at, connect_calendar, make_busy
from tests.tools.serving import LocalServer
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import users
from turnloom.models.runtime.ids import new_id
from turnloom.tools.packs.meetings.store import changes, meetings
from turnloom.tools.packs.meetings.store.calendars import Interval
from turnloom.tools.packs.meetings.store.changes import WantedChange
from turnloom.tools.packs.meetings.store.meetings import Wish

WANTED = {"duration_mins": 30, "start_window": None, "end_window": None, "tz_hint": None}
TIMES = [at("2026-11-23T09:00Z", 30), at("2026-11-24T09:00Z", 30)]


@contextmanager
def proposed(times: list[Interval] = TIMES) -> Iterator[str]:
    """Give Noa these times to choose from."""
    with transaction() as db:
        david = next(each for each in users.connections_of(db, TENANT, "noa") if each.user.id == "david")
        wish = Wish(
            user_id="noa",
            counterpart_id="david",
            connection_id=david.connection_id,
            conversation_id="c1",
            duration_mins=30,
            wanted=WANTED,
            tz="Asia/Jerusalem",
        )
        session = meetings.open_session(db, TENANT, str(new_id()), wish, times)
    yield str(session.id)


@contextmanager
def arranged(times: list[Interval] = TIMES[:1]) -> Iterator[None]:
    """Let Noa meet David at these times."""
    for at_a_time in times:
        with proposed([at_a_time]) as session_id, transaction() as db:
            session = meetings.last(db, TENANT, "noa", "c1", UUID(session_id))
            assert session is not None
            held = meetings.hold(db, session, at_a_time, str(new_id()), timedelta(minutes=1), "Meeting")
            meetings.finish(db, held, ["noa", "david"])
    yield


@contextmanager
def arranged_twice() -> Iterator[None]:
    with arranged(TIMES):
        yield


@contextmanager
def arranged_and_busy() -> Iterator[None]:
    with arranged():
        make_busy("david", TIMES[1])
        yield


@contextmanager
def being_cancelled() -> Iterator[None]:
    """Let another call cancel the meeting right now."""
    with arranged():
        with transaction() as db:
            (session,) = changes.arranged(db, TENANT, "noa", FRIDAY)
            changes.begin(db, session, WantedChange(str(new_id()), None), timedelta(minutes=1), "Meeting")
        yield


@contextmanager
def arranged_and_switched_off() -> Iterator[None]:
    with arranged(), transaction() as db:
        users.connect(db, TENANT, "noa", "david", "inactive")
    yield


@contextmanager
def unconnected() -> Iterator[None]:
    """Let David's calendar refuse its password."""
    with LocalServer() as server, arranged():
        server.expect_request("/david/").respond_with_data(status=401)
        connect_calendar("david", server.url_for("/david/"))
        with transaction() as db:
            db.execute(text("UPDATE accounts SET status = 'reauth_required' WHERE user_id = 'david'"))
        yield
