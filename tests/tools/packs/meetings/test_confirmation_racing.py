"""Several users confirm the same time at once in real processes. Exactly one of them gets it."""

import os
from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import text

from tests.tools.packs.meetings.arranging import connect_calendar, events
from tests.tools.packs.meetings.racing import put_racers, race
from tests.tools.packs.meetings.servers import CalendarServer
from turnloom.models.connections.database import transaction
from turnloom.tools.context import ToolContext

pytestmark = pytest.mark.usefixtures("people")

ONE_OF_FOUR = Counter({"won": 1, "CONFLICT": 3})
ROUNDS = int(os.environ.get("TURNLOOM_DRILL_TURNS", "200"))
DRILL = [pytest.mark.drill, pytest.mark.timeout(900)]


@pytest.mark.parametrize("rounds", [4, pytest.param(ROUNDS, marks=DRILL)], ids=["short", "drill"])
def test_one_of_four_wins(rounds: int, make_context: Callable[..., ToolContext]) -> None:
    """Four users want overlapping times of the same person. The calendars have one meeting of each round."""
    ended = race(put_racers(4), rounds, make_context)

    assert [Counter(each) for each in ended] == [ONE_OF_FOUR] * rounds
    assert [status for _, status in events("david")] == ["confirmed"] * rounds
    with transaction() as db:
        twice = db.scalars(text("SELECT count(*) FROM calendar_events GROUP BY uid HAVING count(*) <> 2"))
        assert twice.all() == []


@pytest.mark.parametrize("rounds", [2, pytest.param(ROUNDS // 4, marks=DRILL)], ids=["short", "drill"])
def test_one_of_four_wins_on_a_calendar_server(
    rounds: int, server: CalendarServer, make_context: Callable[..., ToolContext]
) -> None:
    """This also holds if the person's calendar is elsewhere. At the end we hold nothing."""
    racers = put_racers(4)
    connect_calendar("david", server.make_calendar("david"))

    ended = race(racers, rounds, make_context)

    assert [Counter(each) for each in ended] == [ONE_OF_FOUR] * rounds
    assert len(server.uids("david")) == rounds
    assert (events("david"), sum(len(events(each)) for each in racers)) == ([], rounds)
