"""Make calls of the pack in real processes, some of which die or race each other."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing.process import BaseProcess
from typing import Any

import caldav.davclient  # noqa: F401 - imported before the forks, rather than in each of them
import icalendar  # noqa: F401 - the same
import niquests  # noqa: F401 - the same
import pytest

from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import ALWAYS, SCOPES, at
from turnloom.models.connections.database import forget_connections, transaction
from turnloom.models.contracts.users import Profile
from turnloom.models.ledger import users
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.meetings.store import meetings
from turnloom.tools.packs.meetings.store.calendars import Interval
from turnloom.tools.packs.meetings.store.meetings import Wish
from turnloom.tools.registry import load_registry
from turnloom.tools.runner import run

_fork = multiprocessing.get_context("fork")


def in_process(act: Callable[[], object]) -> int:
    """Run a function in a separate process, and return its exit code: 0, or negative for a signal."""

    def child() -> None:
        forget_connections()
        settings.cache_clear()
        act()
        os._exit(0)

    process = _fork.Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode is not None
    return process.exitcode


def put_racers(number: int) -> list[str]:
    """Put people into the directory who all know David. They work day and night, as he does."""
    racers = [f"racer{each}" for each in range(number)]
    with transaction() as db:
        for user_id in (*racers, "david"):
            profile = Profile(name=user_id.title(), working_hours=ALWAYS, scopes=SCOPES)
            users.put_user(db, TENANT, user_id, profile)
        for user_id in racers:
            users.connect(db, TENANT, user_id, "david")
    return racers


def race(racers: Sequence[str], rounds: int, make_context: Callable[..., ToolContext]) -> list[list[str]]:
    """Let all of them confirm the same time with David at once, round by round, each in its own process.

    Return the outcomes of each round: "won", or the code of the failure.
    """
    barrier = _fork.Barrier(len(racers))
    outcomes = _fork.Queue()
    run_one = [
        _fork.Process(target=_race, args=(user_id, rounds, make_context, barrier, outcomes)) for user_id in racers
    ]
    for process in run_one:
        process.start()
    told = dict(outcomes.get(timeout=900) for _ in racers)
    _join(run_one)
    return [list(each) for each in zip(*told.values(), strict=True)]


def _race(user_id: str, rounds: int, make_context: Callable[..., ToolContext], barrier: Any, outcomes: Any) -> None:
    forget_connections()
    settings.cache_clear()
    tool = load_registry(["meetings"]).get("network.confirm_meeting")
    ended = []
    for number in range(rounds):
        session_id = _proposed(user_id, at("2027-03-01T08:00+00:00", 30), number)
        context = make_context(user={"id": user_id}, idempotency_key=str(new_id()), time_s=30)
        barrier.wait(60)
        envelope = run(tool, {"session_id": session_id}, context)
        ended.append(envelope.error.code if envelope.error else "won")
    outcomes.put((user_id, ended))


def _proposed(user_id: str, first: Interval, number: int) -> str:
    """Open a session with one time for each number. The times of different users differ, but overlap."""
    later = timedelta(hours=number, minutes=5 * int(user_id[-1]))
    with transaction() as db:
        (contact,) = users.connections_of(db, TENANT, user_id)
        wish = Wish(
            user_id=user_id,
            counterpart_id=contact.user.id,
            connection_id=contact.connection_id,
            conversation_id="c1",
            duration_mins=30,
            wanted={"number": number},
            tz="UTC",
        )
        proposals = [Interval(first.starts + later, first.ends + later)]
        return str(meetings.open_session(db, TENANT, str(new_id()), wish, proposals).id)


def _join(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        process.join(30)
        if process.exitcode != 0:
            pytest.fail(f"a racer ended with {process.exitcode}")
