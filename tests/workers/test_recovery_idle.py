"""Idle workers send few queries to Postgres."""

import pytest
from sqlalchemy.event import listen

from tests.factories import running_turn, step
from turnloom.models.connections.database import engine
from turnloom.workers.recovery import sweep
from turnloom.workers.upkeep.heartbeat import Heartbeat

pytestmark = pytest.mark.usefixtures("database", "tools")


def test_an_idle_sweep_begins_no_transaction() -> None:
    """With nothing to recover, a sweep and a heartbeat begin no transaction. With an open turn, a sweep begins two."""
    begun: list[object] = []
    listen(engine(), "begin", begun.append)
    sweep()
    Heartbeat("worker@host", ["plan"], 16).beat()
    idle = list(begun)
    running_turn(step("w", tool="sim.write", args={"value": 7}))
    begun.clear()

    sweep()

    assert idle == []
    assert len(begun) == 2
