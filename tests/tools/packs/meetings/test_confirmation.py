"""Confirming is complete or undone, whatever fails and wherever a process dies."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import code, data, events, lose_holders, session_status
from tests.tools.packs.meetings.conftest import Ask, Calendars
from tests.tools.packs.meetings.racing import in_process
from turnloom.models.connections.database import transaction
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.ledger import notifications
from turnloom.tools.packs.meetings.calendar_entries import clean_up
from turnloom.tools.packs.meetings.dav import DavCalendar

pytestmark = pytest.mark.usefixtures("people")

WITH_DAVID = {"counterpart": "David", "duration_mins": 30}
CHOICE = {"key": "k1", "selection_number": 1}

DYING = {
    "meeting.held": False,
    "calendar.written": False,
    "meeting.written": False,
    "calendar.written calendar.written meeting.written": False,
    "meeting.confirmed": True,
}
"""The points at which processes die in turn, and whether the meeting stands at the end without another call."""

UNDOING = ("calendar.cleared", "meeting.cleared", "calendar.cleared meeting.cleared")
"""The points of a process that undoes the writes of a lost one."""


@pytest.mark.parametrize("points", DYING)
def test_a_process_dies_and_the_call_is_made_again(
    points: str, ask: Ask, calendars: Calendars, arm: Callable[[str], Path]
) -> None:
    """However often it dies, in the end both calendars have the meeting once, and there is one notification."""
    ask("schedule", **WITH_DAVID)
    armed = arm(points)
    died = [in_process(lambda: ask("confirm", **CHOICE)) for _ in points.split()]
    assert (set(died), armed.read_text()) == ({-9}, "")

    meeting = data(ask("confirm", **CHOICE))

    assert calendars.standing() == [[f"{meeting['uid']}.ics"]] * 2
    with transaction() as db:
        assert len(notifications.listed(db, TENANT, "david", "open", 10)) == 1


@pytest.mark.parametrize("points", DYING)
def test_a_process_dies_and_nobody_asks_again(
    points: str, ask: Ask, calendars: Calendars, arm: Callable[[str], Path]
) -> None:
    """Both calendars have the meeting, or after the clean-up neither has it and the time is free again."""
    proposed = data(ask("schedule", **WITH_DAVID))
    arm(points)
    for _ in points.split():
        in_process(lambda: ask("confirm", **CHOICE))

    lose_holders()
    clean_up()

    stands = [[f"{proposed['session_id']}.ics"]] * 2 if DYING[points] else [[], []]
    assert calendars.standing() == stands
    assert session_status(proposed["session_id"]) == ("confirmed" if DYING[points] else "open")


@pytest.mark.parametrize("points", UNDOING)
def test_the_process_that_cleans_up_dies_too(
    points: str, ask: Ask, calendars: Calendars, arm: Callable[[str], Path]
) -> None:
    """The next one goes on, and nothing is left."""
    proposed = data(ask("schedule", **WITH_DAVID))
    arm(f"meeting.written {points}")
    in_process(lambda: ask("confirm", **CHOICE))
    for _ in points.split():
        lose_holders()
        assert in_process(clean_up) == -9

    lose_holders()
    clean_up()

    assert (calendars.standing(), session_status(proposed["session_id"])) == ([[], []], "open")


def test_a_session_that_is_being_confirmed_is_left_alone(
    ask: Ask, calendars: Calendars, arm: Callable[[str], Path]
) -> None:
    """Nothing is cleaned up before its time, and another call has to wait."""
    proposed = data(ask("schedule", **WITH_DAVID))
    arm("meeting.held")
    in_process(lambda: ask("confirm", **CHOICE))

    clean_up()

    assert session_status(proposed["session_id"]) == "confirming"
    assert code(ask("confirm", selection_number=1)) == "CONFLICT"
    assert code(ask("schedule", **WITH_DAVID, start_window="2026-11-24")) == "CONFLICT"


@pytest.mark.parametrize("failure", [ToolFailed("no", code="UPSTREAM_4XX"), Unavailable("no"), TimeoutError("no")])
def test_a_failure_at_the_second_calendar_is_undone_in_the_first(
    failure: Exception, ask: Ask, calendars: Calendars, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also holds if the second one stored it before it failed. A slow one is waited for first."""
    proposed = data(ask("schedule", **WITH_DAVID))
    written = DavCalendar.write

    def failing(self: DavCalendar, uid: str, event: str) -> None:
        written(self, uid, event)
        if self.user.id == "david":
            raise failure

    monkeypatch.setattr(DavCalendar, "write", failing)

    refused = ask("confirm", selection_number=1, time_s=6)

    assert not refused.ok
    if isinstance(failure, TimeoutError):
        assert session_status(proposed["session_id"]) == "confirming"
        lose_holders()
        clean_up()
    assert (calendars.standing(), session_status(proposed["session_id"])) == ([[], []], "open")


def test_what_cannot_be_undone_at_once_is_undone_later(
    ask: Ask, calendars: Calendars, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a server is down the session keeps the open work, and the time stays held until it is done."""
    proposed = data(ask("schedule", **WITH_DAVID))

    def refuse(self: DavCalendar, *_: str) -> None:
        raise ToolFailed("no", code="UPSTREAM_4XX")

    with monkeypatch.context() as out:
        out.setattr(DavCalendar, "remove", refuse)
        out.setattr(DavCalendar, "write", refuse)
        failed = code(ask("confirm", selection_number=1))
    before = session_status(proposed["session_id"]), [status for _, status in events("david")]
    lose_holders()
    clean_up()

    assert (failed, before) == ("UPSTREAM_4XX", ("confirming", ["held"]))
    assert (calendars.standing(), session_status(proposed["session_id"])) == ([[], []], "open")


def test_a_process_that_was_overtaken_touches_nothing(
    ask: Ask, calendars: Calendars, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another undid its work while it was frozen, it neither writes on nor undoes later work."""
    ask("schedule", **WITH_DAVID)
    written = DavCalendar.write

    def overtaken(self: DavCalendar, uid: str, event: str) -> None:
        written(self, uid, event)
        if self.user.id == "noa":
            lose_holders()
            clean_up()
            monkeypatch.setattr(DavCalendar, "write", written)
            assert ask("confirm", selection_number=2).ok

    monkeypatch.setattr(DavCalendar, "write", overtaken)

    late = ask("confirm", selection_number=1)
    again = data(ask("confirm", selection_number=2))

    assert (code(late), again["start"]) == ("CONFLICT", "2026-11-23T11:00:00+02:00")
    assert calendars.standing() == [[f"{again['uid']}.ics"]] * 2
