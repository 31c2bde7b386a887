"""The sweep ends late turns, and gives up the lost writes of closed turns."""

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, queue_length, running_turn
from tests.models.ledger.stopping import WRITE, claim, close, end, lose, statuses, view
from turnloom.models.connections.database import transaction
from turnloom.workers.recovery import sweep

pytestmark = pytest.mark.usefixtures("database")


def test_the_sweep_closes_a_late_turn() -> None:
    """A turn past its deadline is closed and its reply is queued, once. Its planner has lost its fence."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    with transaction() as db:
        db.execute(text("UPDATE turns SET deadline_at = clock_timestamp() - interval '1 s'"))

    sweep()
    sweep()

    assert (view(turn.id).status, view(turn.id).ending) == ("responding", "late")
    assert queue_length("respond") == 1
    assert finish_turn(turn) is None


def test_the_sweep_gives_up_the_lost_write_of_a_cancelled_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is not compiled or sent again. It is unknown until somebody decides."""
    monkeypatch.setattr("turnloom.workers.recovery.recovery.could_renew", lambda *_: True)
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    closed = close(turn.id)
    assert closed is not None
    end(turn.id, closed.respond or 0)
    lose(turn.id)

    sweep()

    assert statuses(turn.id) == {"w": "unknown"}
    assert view(turn.id).status == "cancelled"
    assert (queue_length("tools.io"), queue_length("respond")) == (0, 0)
