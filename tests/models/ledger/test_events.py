"""The ledger keeps one row of events per commit, and reads events one by one from any position."""

from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.factories import finish_turn, make_tenant, open_turn, running_turn, step, work
from tests.models.ledger.test_steps import advance, claim
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.event import Event
from turnloom.models.ledger import conversations
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.settings import settings
from turnloom.models.schema.migration import downgrade, upgrade

_OLD_INSERT = """
    INSERT INTO events (turn_id, seq, tenant_id, type, data, at)
    SELECT id, last_event + n, tenant_id, e ->> 'type', coalesce(e -> 'data', '{}'), clock_timestamp()
      FROM turns, jsonb_array_elements(%s) WITH ORDINALITY AS listed (e, n)
"""


def turn_with_two_steps() -> ClaimedTurn:
    """Return a turn whose first step has ended, in the commit that claimed the second."""
    turn = running_turn(step("a"), step("b", "a"))
    claim(turn.id, "a")
    advance(turn.id, "a", lane=("b",))
    return turn


@pytest.mark.usefixtures("database")
def test_the_events_of_a_commit_are_one_row() -> None:
    """The end of a step and the start of the next one share a row. So do the reply and the end of the turn."""
    turn = turn_with_two_steps()
    finish_turn(turn, advance(turn.id, "b").respond)

    assert [event.type for event in recorded_events(turn.id)] == [
        "turn.queued",
        "plan.started",
        "plan.ready",
        "step.started",
        "step.finished",
        "step.started",
        "step.finished",
        "reply.done",
        "turn.succeeded",
    ]
    assert _rows(turn.id) == [1, 1, 1, 1, 2, 1, 2]


@pytest.mark.usefixtures("database")
def test_events_are_read_from_the_middle_of_a_commit_on() -> None:
    """Nothing is lost or doubled, wherever a reader stopped."""
    turn = turn_with_two_steps()
    whole = recorded_events(turn.id)

    assert [event.seq for event in whole] == [1, 2, 3, 4, 5, 6]
    assert [recorded_events(turn.id, seq) for seq in range(8)] == [whole[seq:] for seq in range(8)]


@pytest.mark.usefixtures("database")
def test_erasure_takes_the_words_of_all_events() -> None:
    """The earlier events of a commit lose their words too. Types, order and times stay."""
    tenant_id = make_tenant()
    turn_id = open_turn(tenant_id, "my name is Noa").turn_id
    assert turn_id is not None
    work(turn_id)
    before = recorded_events(turn_id)

    with transaction() as db:
        conversations.erase(db, tenant_id, "c1")

    common = {"turn_id", "at"}
    bare = [(event.seq, event.type, {name: event.data[name] for name in common}) for event in before]
    assert [(event.seq, event.type, event.data) for event in recorded_events(turn_id)] == bare


def test_the_previous_release_goes_on(database: str) -> None:
    """With its own statements it reads these events one by one, adds some, and erases all."""
    turn = turn_with_two_steps()
    with psycopg.connect(database) as db:
        db.execute(_OLD_INSERT, (Jsonb([{"type": "x", "data": {"n": 1}}, {"type": "y"}]),))
        read = "SELECT seq, type, data FROM events WHERE turn_id = %s AND seq > %s ORDER BY turn_id, seq"
        found = db.execute(read, (turn.id, 1)).fetchall()
        db.commit()
        seen = recorded_events(turn.id, 1)
        again = db.execute("SELECT 1 FROM events WHERE turn_id = %s AND seq > 1 AND type = 'turn.queued'", (turn.id,))
        db.execute("UPDATE events SET data = '{}' WHERE turn_id IN (SELECT id FROM turns)")
        erased = db.execute("SELECT seq, type, data FROM events ORDER BY seq").fetchall()

    assert [(event.seq, event.type, _own(event)) for event in seen] == found
    assert [event.type for event in seen[-3:]] == ["step.started", "x", "y"]
    assert again.rowcount == 0
    assert erased[1:] == [(seq, kind, {}) for seq, kind, _ in found]


def test_an_older_ledger_keeps_its_events(database: str) -> None:
    """The migration leaves its rows as they are. The downgrade gives each event its own row again."""
    owner_url = settings().owner_database_url
    assert owner_url is not None
    turn = turn_with_two_steps()
    written = recorded_events(turn.id)

    downgrade(owner_url, "0019")
    with psycopg.connect(owner_url) as db:
        rows = db.execute("SELECT seq, type, data FROM events WHERE turn_id = %s ORDER BY seq", (turn.id,)).fetchall()
    upgrade(owner_url)

    assert rows == [(event.seq, event.type, _own(event)) for event in written]
    assert recorded_events(turn.id) == written
    assert _rows(turn.id) == [1] * 6


def _own(event: Event) -> dict[str, object]:
    return {name: value for name, value in event.data.items() if name not in {"turn_id", "at"}}


def _rows(turn_id: UUID) -> list[int]:
    """Return how many events each row of a turn has."""
    with statement() as db:
        query = "SELECT 1 + jsonb_array_length(earlier) FROM turn_events WHERE turn_id = %s ORDER BY seq"
        return [count for (count,) in db.execute(query, (turn_id,))]
