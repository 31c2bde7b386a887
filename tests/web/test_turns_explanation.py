"""A turn is explained over HTTP and on the command line with the same answer."""

import json
from uuid import uuid4

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from tests.web.conftest import KeyMaker
from turnloom.models.connections.redis import redis
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main


def test_explanation_of_a_turn(client: FlaskClient) -> None:
    """The explanation of a queued turn without a worker names the cause, the queue and since when it waits."""
    turn = client.post("/v1/turns", json={"message": "hi"}).get_json()

    found = client.get(f"/v1/turns/{turn['turn_id']}/explain").get_json()

    assert found.pop("message").startswith("the turn has waited on queue 'plan' since ")
    assert found.pop("since")
    assert found == {
        "turn_id": turn["turn_id"],
        "status": "queued",
        "cause": "no_worker",
        "until": None,
        "step": None,
        "queue": "plan",
        "turn": None,
    }


def test_explanation_of_another_tenants_turn(client: FlaskClient, key: KeyMaker) -> None:
    """Another tenant's turn does not exist, and a key without the scope may not ask."""
    turn = client.post("/v1/turns", json={"message": "hi"}).get_json()
    address = f"/v1/turns/{turn['turn_id']}/explain"

    statuses = [client.get(address, headers=header).status_code for header in (key(tenant="b"), key("turns:write"))]

    assert statuses == [404, 403]


def test_the_broker_is_down(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Redis does not answer, the explanation says so."""
    turn = client.post("/v1/turns", json={"message": "hi"}).get_json()
    redis().close()
    redis.cache_clear()
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    settings.cache_clear()

    found = client.get(f"/v1/turns/{turn['turn_id']}/explain")

    redis.cache_clear()
    assert (found.status_code, found.get_json()["cause"]) == (200, "broker_down")


def test_the_command_says_the_same(client: FlaskClient) -> None:
    """`turnloom explain` reads the ledger itself. It prints one line for people, or the JSON document."""
    turn_id = client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"]

    line, document = (CliRunner().invoke(main, ["explain", turn_id, *more]) for more in ([], ["--json"]))

    over_http = client.get(f"/v1/turns/{turn_id}/explain").get_json()
    assert json.loads(document.stdout) == over_http
    assert line.stdout == f"queued, no_worker: {over_http['message']}\n"


def test_the_command_without_a_turn(database: str) -> None:
    """An unknown turn gives exit code 1, a malformed id 2."""
    results = [CliRunner().invoke(main, ["explain", turn_id]) for turn_id in (str(uuid4()), "c1")]

    assert [result.exit_code for result in results] == [1, 2]
    assert "there is no turn" in results[0].stderr
