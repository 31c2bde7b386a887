"""The contract of the meetings pack, over our own calendars and a server that fails."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import time_machine
from sqlalchemy import text

from tests.tools.conftest import TENANT
from tests.tools.packs.contracts.cases import Asks, Case, Contract, Fails, Given, Refused, Valid
from tests.tools.packs.meetings.arranging import FRIDAY, connect_calendar, make_busy, settle_people
from tests.tools.packs.meetings.worlds import (
    TIMES,
    WANTED,
    arranged,
    arranged_and_busy,
    arranged_and_switched_off,
    arranged_twice,
    being_cancelled,
    proposed,
    unconnected,
)
from tests.tools.serving import LocalServer
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import Profile
from turnloom.models.ledger import users
from turnloom.models.runtime import secrets
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.meetings.store import meetings
from turnloom.tools.packs.meetings.store.meetings import Wish

ASKED = {"counterpart": "David", "duration_mins": 30}
FIRST = {"selection_number": 1}
NOA = {"user": {"id": "noa"}}
SHOWN = ["Mon 23 Nov 2026, 11:00-11:30 (Asia/Jerusalem)", "Tue 24 Nov 2026, 11:00-11:30 (Asia/Jerusalem)"]


@contextmanager
def world() -> Iterator[None]:
    """Connect Noa, David and Mia, on a Friday in November, with a key that encrypts secrets."""
    settle_people()
    with pytest.MonkeyPatch.context() as patch, time_machine.travel(FRIDAY, tick=True):
        patch.setenv("TURNLOOM_SECRET_KEYS", f'["{secrets.new_key()}"]')
        patch.setenv("TURNLOOM_ALLOWED_HOSTS", '["127.0.0.1"]')
        settings.cache_clear()
        yield
    settings.cache_clear()


@contextmanager
def one_proposed() -> Iterator[None]:
    with proposed(TIMES[:1]):
        yield


@contextmanager
def expired() -> Iterator[None]:
    with proposed(), transaction() as db:
        db.execute(text("UPDATE meeting_sessions SET expires_at = now() - interval '1 s'"))
    yield


@contextmanager
def offered_by_two() -> Iterator[None]:
    """Let David and Mia propose times to Noa."""
    with transaction() as db:
        for user_id in ("mia", "david"):
            known = next(each for each in users.connections_of(db, TENANT, user_id) if each.user.id == "noa")
            wish = Wish(
                user_id=user_id,
                counterpart_id="noa",
                connection_id=known.connection_id,
                conversation_id=f"of {user_id}",
                duration_mins=30,
                wanted=WANTED,
                tz="Europe/London",
            )
            meetings.open_session(db, TENANT, str(new_id()), wish, TIMES)
    yield


@contextmanager
def taken() -> Iterator[None]:
    with proposed():
        make_busy("david", *TIMES)
        yield


@contextmanager
def two_davids() -> Iterator[None]:
    with transaction() as db:
        users.put_user(db, TENANT, "other", Profile(name="David Azulay"))
        users.connect(db, TENANT, "noa", "other")
    yield


@contextmanager
def switched_off() -> Iterator[None]:
    with proposed(), transaction() as db:
        users.connect(db, TENANT, "noa", "david", "inactive")
    yield


def on_a_server(status: int, world: Any = proposed, **headers: str) -> Any:
    """Give Noa times to choose from, or another world, and a calendar on a server that answers like this."""

    @contextmanager
    def given() -> Iterator[None]:
        with LocalServer() as server, world():
            server.expect_request(re.compile("/noa/.*")).respond_with_data(status=status, headers=headers)
            connect_calendar("noa", server.url_for("/noa/"))
            yield

    return given


def failures(args: Given, world: Any = proposed, without: Any = switched_off) -> list[Case]:
    """Return the failures that a calendar server may cause, and that of a world without a connection."""
    soon = {**NOA, "time_s": 3}
    return [
        Fails(args, "REAUTH_REQUIRED", "connect it again", given=on_a_server(401, world), context=soon),
        Fails(args, "UPSTREAM_4XX", "HTTP 403", given=on_a_server(403, world), context=soon),
        Fails(args, "UPSTREAM_5XX", "failed to handle", given=on_a_server(500, world), context=soon),
        Fails(args, "RATE_LIMITED", "limits our", given=on_a_server(429, world, **{"Retry-After": "60"}), context=soon),
        Fails(args, "CONNECTION_INACTIVE", given=without, context=soon),
    ]


CONTRACT: Contract = {
    "network.schedule_meeting": [
        Valid(
            ASKED,
            gives={
                "session_id": ...,
                "counterpart": "David Cohen",
                "counterpart_user_id": "david",
                "connection_id": ...,
                "duration_mins": 30,
                "tz": "Asia/Jerusalem",
                "proposals": [
                    {"start": start, "end": ..., "tz": "Asia/Jerusalem"}
                    for start in (
                        "2026-11-20T11:30:00+02:00",
                        "2026-11-23T11:00:00+02:00",
                        "2026-11-24T11:00:00+02:00",
                        "2026-11-25T11:00:00+02:00",
                    )
                ],
            },
            context=NOA,
        ),
        Valid(
            {**ASKED, "start_window": "2026-11-21", "end_window": "2026-11-22"},
            gives={"session_id": None, "proposals": []},
            context=NOA,
        ),
        Valid({**ASKED, "tz_hint": "Europe/Rome"}, gives={"tz": "Europe/Rome"}, context=NOA),
        Refused({**ASKED, "start_window": "next week"}, "start_window"),
        Refused({**ASKED, "end_window": "9999-12-31"}, "end_window"),
        Valid({**ASKED, "tz_hint": "Mars/Olympus"}, gives={"tz": "Asia/Jerusalem"}, context=NOA),
        Asks({"duration_mins": 30}, "counterpart", context=NOA),
        Asks({"counterpart": "David"}, "duration_mins", context=NOA),
        Asks(ASKED, {"counterpart": ["David Azulay", "David Cohen"]}, given=two_davids, context=NOA),
        Fails({**ASKED, "counterpart": "Nobody"}, "NOT_FOUND", "Nobody", context=NOA),
        Fails(ASKED, "CONFLICT", "proposed already", given=proposed, context=NOA),
        Fails({**ASKED, "end_window": "2026-11-19"}, "VALIDATION_ERROR", "later times", context=NOA),
        Fails({**ASKED, "end_window": "2027-11-19"}, "VALIDATION_ERROR", "62 days", context=NOA),
        *failures(ASKED),
    ],
    "network.confirm_meeting": [
        Valid(
            FIRST,
            gives={
                "session_id": ...,
                "title": "Meeting of Noa Levi and David Cohen",
                "counterpart": "David Cohen",
                "counterpart_user_id": "david",
                "connection_id": ...,
                "duration_mins": 30,
                "uid": ...,
                "invite": ...,
                "start": "2026-11-23T11:00:00+02:00",
                "end": "2026-11-23T11:30:00+02:00",
                "tz": "Asia/Jerusalem",
            },
            given=proposed,
            context=NOA,
        ),
        Valid({}, gives={"start": "2026-11-23T11:00:00+02:00"}, given=one_proposed, context=NOA),
        Valid(
            lambda session_id: {"session_id": session_id, "start_time": "2026-11-24T11:00"},
            gives={"start": "2026-11-24T11:00:00+02:00"},
            given=proposed,
            context=NOA,
        ),
        Refused({"start_time": "soon"}, "start_time"),
        Refused({"start_time": "2026-11-24T11:00", "end_time": "soon"}, "end_time"),
        Asks({}, {"selection_number": SHOWN}, given=proposed, context=NOA),
        Fails(FIRST, "NOT_FOUND", "no times were proposed", context=NOA),
        Fails(FIRST, "NOT_FOUND", "no longer valid", given=expired, context=NOA),
        Fails({"session_id": "0198c0de-0000-7000-8000-00000000beef"}, "NOT_FOUND", given=proposed, context=NOA),
        Fails(FIRST, "NOT_FOUND", given=proposed, context={"user": {"id": "mia"}}),
        Fails(FIRST, "CONFLICT", "taken", given=taken, context=NOA),
        Fails({"selection_number": 3}, "VALIDATION_ERROR", "not one of the proposed", given=proposed, context=NOA),
        Valid(
            {"start_time": "2026-11-24T12:00"},
            gives={"start": "2026-11-24T12:00:00+02:00"},
            given=proposed,
            context=NOA,
        ),
        Fails({"start_time": "2026-11-19T12:00"}, "VALIDATION_ERROR", "passed", given=proposed, context=NOA),
        Asks({}, {"counterpart": ["David Cohen", "Mia Rossi"]}, given=offered_by_two, context=NOA),
        *failures(FIRST),
    ],
    "network.reschedule_meeting": [
        Valid(
            {"counterpart": "David", "new_time": "15:00"},
            gives={
                "session_id": ...,
                "counterpart": "David Cohen",
                "start": "2026-11-23T15:00:00+02:00",
                "end": "2026-11-23T15:30:00+02:00",
                "previous_start": "2026-11-23T11:00:00+02:00",
                "previous_end": "2026-11-23T11:30:00+02:00",
                "tz": "Asia/Jerusalem",
            },
            given=arranged,
            context=NOA,
        ),
        Refused({"new_time": "soon"}, "new_time"),
        Refused({"new_day": "friday"}, "new_day"),
        Refused({"at": "soon"}, "at"),
        Asks({"counterpart": "David"}, "new_time", given=arranged, context=NOA),
        Asks({"new_time": "15:00"}, "at", given=arranged_twice, context=NOA),
        Fails({"new_time": "15:00"}, "NOT_FOUND", "no such meeting", context=NOA),
        Fails({"new_day": "2026-11-24"}, "CONFLICT", "taken", given=arranged_and_busy, context=NOA),
        Fails({"new_day": "2026-11-23"}, "CONFLICT", "already", given=arranged, context=NOA),
        Fails({"new_time": "15:00"}, "CONFLICT", "right now", given=being_cancelled, context=NOA),
        Fails({"new_day": "2026-11-19"}, "VALIDATION_ERROR", "passed", given=arranged, context=NOA),
        *failures({"new_time": "15:00"}, arranged, arranged_and_switched_off),
    ],
    "network.cancel_meeting": [
        Valid(
            {"counterpart": "David"},
            gives={"counterpart": "David Cohen", "start": "2026-11-23T11:00:00+02:00", "uid": ..., "invite": ...},
            given=arranged,
            context=NOA,
        ),
        Refused({"at": "soon"}, "at"),
        Asks({}, {"at": ["2026-11-23T11:00:00+02:00", "2026-11-24T11:00:00+02:00"]}, given=arranged_twice, context=NOA),
        Fails({}, "NOT_FOUND", "no such meeting", context=NOA),
        Fails({}, "CONFLICT", "right now", given=being_cancelled, context=NOA),
        *failures({}, arranged, unconnected),
    ],
}
