"""Operators see how the deployment stands, over all tenants, and nobody else does."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from sqlalchemy import select

from tests.factories import claim_turn, finish_turn, record_plan, step
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import steps, workers
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder
from turnloom.models.runtime.metrics import hand_on
from turnloom.models.tables.turns import TurnRow
from turnloom.web import operations

_HOLDER = Holder("worker-io-1@host/77", 6_000)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    """Forget what another test has seen."""
    operations._known._kept.clear()
    yield
    operations._known._kept.clear()


def _shown(client: FlaskClient) -> dict[str, Any]:
    operations._known._kept.clear()
    answer = client.get("/v1/operations")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def _posted(client: FlaskClient) -> UUID:
    return UUID(client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"])


def test_an_idle_deployment(client: FlaskClient) -> None:
    """Nothing waits, nobody works, and every queue is named."""
    shown = _shown(client)

    assert [queue["queue"] for queue in shown["queues"]] == [
        *("plan", "tools.io", "tools.cpu", "respond", "deliver", "maintenance", "replay")
    ]
    assert all((queue["messages"], queue["oldest_s"], queue["slots"]) == (0, None, 0) for queue in shown["queues"])
    assert (shown["workers"], shown["backlog"], shown["circuits"]) == ([], [], [])
    assert shown["dead_letters"] == {"step": 0, "turn": 0, "delivery": 0, "callback": 0}
    assert shown["recent"]["turns"] == 0
    assert shown["beat"] is False


def test_what_waits_and_who_works(client: FlaskClient) -> None:
    """Turns and steps that wait have an age; a worker shows its slots and the steps that it runs."""
    _posted(client)
    turn = claim_turn(_posted(client))
    assert turn is not None
    record_plan(turn, step("a"), step("b"))
    with statement() as db:
        workers.beat(db, "worker-io-1@host", ["tools.io"], 4)
        assert steps.claim(db, turn.id, [["a"]], 1, _HOLDER).lanes[0].step

    shown = _shown(client)

    queues = {queue["queue"]: queue for queue in shown["queues"]}
    assert queues["plan"]["oldest_s"] >= 0
    assert queues["tools.io"]["oldest_s"] >= 0
    assert queues["tools.io"]["slots"] == 4
    assert queues["respond"]["oldest_s"] is None
    (worker,) = shown["workers"]
    assert (worker["name"], worker["slots"], worker["steps"], worker["alive"]) == ("worker-io-1@host", 4, 1, True)
    backlog = {each["status"]: each["turns"] for each in shown["backlog"]}
    assert backlog == {"queued": 1, "running": 1}


def test_how_turns_and_tools_went(client: FlaskClient) -> None:
    """Turns that have ended lately are summed up by segment, calls of tools by error."""
    turn = claim_turn(_posted(client))
    assert turn is not None
    record_plan(turn, step("a"))
    with statement() as db:
        (lane,) = steps.claim(db, turn.id, [["a"]], 1, _HOLDER).lanes
        assert lane.step
        error = {"code": "UPSTREAM_5XX", "message": "no"}
        done = FinishedStep("a", lane.step.attempt, "failed", error=error)
        steps.advance(db, turn.id, 1, Handover([done]), Capacity("tools.io", 0, mixed=True), _HOLDER)
    with transaction() as db:
        attempt = db.scalars(select(TurnRow.attempt).where(TurnRow.id == turn.id)).one()
    assert finish_turn(turn, attempt)

    recent = _shown(client)["recent"]

    assert (recent["turns"], recent["failed"]) == (1, 0)
    assert {"queue", "tools"} <= {each["segment"] for each in recent["segments"]}
    assert all(0 <= each["p50_ms"] <= each["p95_ms"] for each in recent["segments"])
    (tool,) = recent["tools"]
    assert (tool["tool"], tool["calls"], tool["errors"]) == ("sim.wait", 1, {"UPSTREAM_5XX": 1})


def test_shed_load_is_counted(app: APIFlask, client: FlaskClient) -> None:
    """What was refused because of too much is counted by its code, here and in the metrics."""
    browser = app.test_client()
    for _ in range(21):
        browser.post("/v1/console/session", json={"key": "no"}, headers={"Origin": "http://localhost"})
    hand_on()

    shown = _shown(client)

    assert shown["refused"]["rate_limited"] >= 1
    assert 'turnloom_requests_refused_total{code="rate_limited"}' in client.get("/metrics").text


def test_one_read_serves_all_that_ask(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten pages that ask every two seconds cost as much as one."""
    asked = []
    look = operations.ledger.worker_rows
    monkeypatch.setattr(operations.ledger, "worker_rows", lambda db: asked.append(1) or look(db))

    answers = [client.get("/v1/operations") for _ in range(10)]

    assert {answer.status_code for answer in answers} == {200}
    assert len(asked) == 1


def test_a_dead_worker_is_shown_for_a_while(client: FlaskClient) -> None:
    """A worker that has missed its heartbeats is not alive, and gives no slots to its queue."""
    with statement() as db:
        workers.beat(db, "worker-io-1@host", ["tools.io"], 4)
    with transaction() as db:
        row = operations.ledger.worker_rows(db)[0][0]
        row.beat_at -= timedelta(seconds=10)

    shown = _shown(client)

    assert [worker["alive"] for worker in shown["workers"]] == [False]
    assert {queue["slots"] for queue in shown["queues"]} == {0}


def test_another_scope_is_not_enough(app: APIFlask, key: KeyMaker) -> None:
    """A tenant's administrator sees nothing of the deployment."""
    answer = app.test_client().get("/v1/operations", headers=key("admin", "turns:read"))

    assert answer.status_code == 403
