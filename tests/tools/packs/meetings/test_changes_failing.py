"""A change is complete or undone in both calendars, whatever fails and wherever a process dies."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tools.conftest import TENANT
from tests.tools.packs.meetings import test_confirmation
from tests.tools.packs.meetings.arranging import code, data, lose_holders
from tests.tools.packs.meetings.conftest import Ask, Calendars
from tests.tools.packs.meetings.racing import in_process
from turnloom.models.connections.database import transaction
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.ledger import notifications
from turnloom.tools.packs import meetings as pack
from turnloom.tools.packs.meetings.calendar_entries import clean_up
from turnloom.tools.packs.meetings.dav import DavCalendar

pytestmark = pytest.mark.usefixtures("people")

MOVE = ("reschedule", {"new_time": "15:00", "key": "k9"})
CANCEL = ("cancel", {"key": "k9"})
OLD, NEW = "DTSTART:20261123T090000Z", "DTSTART:20261123T130000Z"
DYING = ("change.begun", "calendar.changed", "change.written", "change.done")
"""The points at which a process dies. At the last one the change is made."""
UNDOING = "calendar.restored change.restored"


@pytest.fixture
def meeting(ask: Ask, calendars: Calendars) -> dict[str, Any]:
    """Let Noa meet David, in two calendars on a server."""
    ask("schedule", counterpart="David", duration_mins=30)
    return data(ask("confirm", selection_number=2))


def standing(calendars: Calendars) -> list[list[str]]:
    """Return the starts of each calendar's events on the server, and the status of those that we hold."""
    return [
        [
            *(start for uid in on_server for start in re.findall("DTSTART:[0-9TZ]+", calendars.server.text(user, uid))),
            *held,
        ]
        for user, (on_server, held) in zip(("noa", "david"), map(_divided, calendars.standing()), strict=True)
    ]


def _divided(entries: list[str]) -> tuple[list[str], list[str]]:
    return [each for each in entries if each.endswith(".ics")], [each for each in entries if not each.endswith(".ics")]


def changed(call: tuple[str, dict[str, Any]]) -> list[list[str]]:
    """Return what stands in both calendars after a call."""
    return [[NEW], [NEW]] if call is MOVE else [[], []]


def notified() -> list[str]:
    with transaction() as db:
        return [each.kind for each in notifications.listed(db, TENANT, "david", "open", 10)]


def test_every_crash_point_is_tested() -> None:
    """Each point that the pack names is in a table of these tests or of the confirmation's."""
    modules = Path(str(pack.__file__)).parent.glob("*.py")
    named = {name for path in modules for name in re.findall(r'reach\("([^"]+)"\)', path.read_text())}

    tables = (DYING, (UNDOING,), test_confirmation.DYING, test_confirmation.UNDOING)
    assert named == {point for table in tables for points in table for point in points.split()}


@pytest.mark.parametrize("call", [MOVE, CANCEL], ids=["move", "cancel"])
def test_processes_die_and_the_call_is_made_again(
    call: tuple[str, dict[str, Any]],
    ask: Ask,
    meeting: dict[str, Any],
    calendars: Calendars,
    arm: Callable[[str], Path],
) -> None:
    """However often it dies, in the end both calendars have the change, and there is one notification of it."""
    armed = arm(" ".join(DYING))
    died = [in_process(lambda: ask(call[0], **call[1])) for _ in DYING]
    assert (set(died), armed.read_text()) == ({-9}, "")

    made = ask(call[0], **call[1])

    assert made.ok
    assert standing(calendars) == changed(call)
    assert notified() == ["meeting.moved" if call is MOVE else "meeting.cancelled"]


@pytest.mark.parametrize("call", [MOVE, CANCEL], ids=["move", "cancel"])
@pytest.mark.parametrize("point", DYING)
def test_a_process_dies_and_nobody_asks_again(
    point: str,
    call: tuple[str, dict[str, Any]],
    ask: Ask,
    meeting: dict[str, Any],
    calendars: Calendars,
    arm: Callable[[str], Path],
) -> None:
    """Both calendars have the change, or after the clean-up neither has it and nothing is held."""
    arm(point)
    in_process(lambda: ask(call[0], **call[1]))

    lose_holders()
    clean_up()

    is_made = point == DYING[-1]
    assert standing(calendars) == (changed(call) if is_made else [[OLD], [OLD]])
    assert (notified() == ["meeting.confirmed"]) is not is_made


def test_the_process_that_cleans_up_dies_too(
    ask: Ask, meeting: dict[str, Any], calendars: Calendars, arm: Callable[[str], Path]
) -> None:
    """The next one goes on, and both calendars have what they had."""
    arm(f"change.written {UNDOING}")
    in_process(lambda: ask(CANCEL[0], **CANCEL[1]))
    for _ in UNDOING.split():
        lose_holders()
        assert in_process(clean_up) == -9

    lose_holders()
    clean_up()

    assert standing(calendars) == [[OLD], [OLD]]


def test_a_change_in_progress_is_left_alone(ask: Ask, meeting: dict[str, Any], arm: Callable[[str], Path]) -> None:
    """Nothing is undone before its time. Another change has to wait, and nobody else gets the new time."""
    arm("change.begun")
    in_process(lambda: ask(MOVE[0], **MOVE[1]))

    clean_up()

    assert code(ask("cancel")) == "CONFLICT"
    ask("schedule", "mia", counterpart="David", duration_mins=30)
    assert code(ask("confirm", "mia", start_time="2026-11-23T13:00:00Z")) == "CONFLICT"


@pytest.mark.parametrize("failure", [ToolFailed("no", code="UPSTREAM_4XX"), Unavailable("no"), TimeoutError("no")])
@pytest.mark.parametrize("call", [MOVE, CANCEL], ids=["move", "cancel"])
def test_a_failure_at_the_second_calendar_is_undone_in_the_first(
    failure: Exception,
    call: tuple[str, dict[str, Any]],
    ask: Ask,
    meeting: dict[str, Any],
    calendars: Calendars,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This also holds if the second one has changed it before it failed. A slow one is waited for first."""
    name = "write" if call is MOVE else "remove"
    real = getattr(DavCalendar, name)

    def failing(self: DavCalendar, uid: str, *event: str) -> None:
        real(self, uid, *event)
        if self.user.id == "david" and not any(OLD in text for text in event):
            raise failure

    monkeypatch.setattr(DavCalendar, name, failing)

    refused = ask(call[0], time_s=6, **call[1])

    assert not refused.ok
    if isinstance(failure, TimeoutError):
        lose_holders()
        clean_up()
    assert standing(calendars) == [[OLD], [OLD]]
    assert notified() == ["meeting.confirmed"]


def test_a_process_that_was_overtaken_touches_nothing(
    ask: Ask, meeting: dict[str, Any], calendars: Calendars, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another undid its work while it was frozen, it neither writes on nor undoes later work."""
    written = DavCalendar.write

    def overtaken(self: DavCalendar, uid: str, event: str) -> None:
        written(self, uid, event)
        if self.user.id == "noa":
            monkeypatch.setattr(DavCalendar, "write", written)
            lose_holders()
            clean_up()
            assert ask("cancel").ok

    monkeypatch.setattr(DavCalendar, "write", overtaken)

    late = ask(MOVE[0], **MOVE[1])

    assert code(late) == "CONFLICT"
    assert standing(calendars) == [[], []]
