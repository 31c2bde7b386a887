"""A replay of one turn, or of the last conversations, is made from a request that can mean only one thing."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError
from sqlalchemy import text

from tests.factories import make_tenant, open_turn, work
from tests.planner.llm.scripted import Script, says
from tests.workers.replay.working import scripted_parts, work_off
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.replay_request import ReplayRequest
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import replays
from turnloom.workers.broker.app import app as celery
from turnloom.workers.replay import requests
from turnloom.workers.replay.tasks import report_task

NOON = "2026-03-01T12:00:00Z"
_KNOWN_BEFORE = {
    *("since", "until", "agent", "sample", "seed", "tools", "faults", "model", "repeat", "max_different"),
    *("texts", "changed", "source"),
}
_TURN_BEFORE = {"conversation_id", "seq", "outcome", "differences", "noise", "reason", "recorded", "replayed"}
"""The fields of a replay's options and of a replayed turn that the release before knows."""


@pytest.fixture
def tenant_id(database: str, redis_url: str) -> UUID:
    celery.conf.update(broker_url=redis_url, broker_write_url=redis_url)
    return make_tenant()


@pytest.fixture
def script(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """A language model from a script, and the sim pack's tools."""
    with scripted_parts(monkeypatch) as serving:
        yield serving


def answered(tenant_id: UUID, message: str, conversation_id: str = "c1") -> str:
    turn_id = open_turn(tenant_id, message, conversation_id=conversation_id).turn_id
    work(turn_id)
    return str(turn_id)


def test_one_turn_is_replayed_with_another_text(tenant_id: UUID, script: Script) -> None:
    """The others of its conversation are only its past, and the report shows it even if it goes the same way."""
    _, second, _ = [answered(tenant_id, f"message {number}") for number in (1, 2, 3)]
    script.behaviours = [says('{"steps": [], "reply": "done"}')]
    prompts = {"agents/generic": "persona: You are a pirate.\n"}

    replay_id = requests.make(tenant_id, ReplayRequest(turn_id=second, prompts=prompts))
    work_off(replay_id)
    report_task(str(replay_id))

    with transaction() as db:
        made = replays.progress(db, tenant_id, replay_id).replay.report
    asked = json.dumps(script.requests)
    assert ("You are a pirate." in asked, len(script.requests)) == (True, 1)
    assert [turn["message"] for turn in made["listed"]] == ["message 2"]
    assert made["about"]["replayed"] == f"turn {second}"
    assert made["about"]["changed prompts"] == "agents/generic"


def test_the_last_conversations_are_replayed(tenant_id: UUID) -> None:
    """They are chosen when the replay is made: those with the latest turns."""
    for number, name in enumerate(("a", "b", "c", "a")):
        answered(tenant_id, f"message {number}", name)

    replay_id = requests.make(tenant_id, ReplayRequest.model_validate({"since": NOON, "last": 2}))

    with transaction() as db:
        rows = db.execute(text("SELECT conversation_id FROM replay_conversations ORDER BY number")).all()
        options = replays.progress(db, tenant_id, replay_id).replay.options
    assert [name for (name,) in rows] == ["a", "c"]
    assert options["last"] == 2


def test_only_a_turn_that_can_be_run_again_is_replayed(tenant_id: UUID) -> None:
    """Others are refused before anything is recorded."""
    opened = open_turn(tenant_id).turn_id

    with pytest.raises(Conflict, match="has not ended"):
        requests.make(tenant_id, ReplayRequest(turn_id=str(opened)))
    work(opened)
    with pytest.raises(NotFound):
        requests.make(make_tenant("other"), ReplayRequest(turn_id=str(opened)))
    with transaction() as db:
        db.execute(text("UPDATE turns SET author = 'Dana'"))
    with pytest.raises(Conflict, match="Dana wrote its reply"):
        requests.make(tenant_id, ReplayRequest(turn_id=str(opened)))
    with transaction() as db:
        assert replays.listed(db, tenant_id, 10) == []


def test_a_worker_of_the_release_before_can_run_what_it_can_do(tenant_id: UUID, script: Script) -> None:
    """It refuses fields that it does not know, and what it cannot read is recorded as failed. So nothing is written of
    fields that a replay does not use."""
    answered(tenant_id, "hi")
    faults = {"faults": [{"tool": "*", "delay_ms": 1}]}
    asked = {"since": NOON, "tools": "simulated", "faults": faults}

    replay_id = requests.make(tenant_id, ReplayRequest.model_validate(asked))
    work_off(replay_id)

    with transaction() as db:
        options = replays.progress(db, tenant_id, replay_id).replay.options
        ((_, (turn,)),) = replays.results(db, tenant_id, replay_id, 0)
    assert options.keys() == _KNOWN_BEFORE
    assert options["faults"].keys() == {"seed", "faults"}
    assert turn.keys() == _TURN_BEFORE


@pytest.mark.parametrize(
    "fields",
    [
        {"turn_id": "x", "since": NOON},
        {"turn_id": "x", "agent": "hotel"},
        {"turn_id": "x", "last": 3},
        {"since": NOON, "last": 3, "sample": 3},
        {},
    ],
)
def test_a_request_that_could_mean_two_things_is_refused(fields: dict[str, Any]) -> None:
    """Before anything is looked for."""
    with pytest.raises(ValidationError):
        ReplayRequest.model_validate(fields)
