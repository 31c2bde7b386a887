"""Turns are received over HTTP."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn
from tests.facts import wait_for
from tests.turn_events import recorded_events
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import transaction
from turnloom.models.connections.redis import announce
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import turn_snapshots, turns
from turnloom.models.runtime.settings import settings
from turnloom.web.event_hub import hub

_PLAN = {"steps": [{"id": "when", "tool": "dates.resolve_hint", "args": {"hint": "next weekend"}}]}


def _post(client: FlaskClient, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/turns", json={"message": "hi", **body})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def test_turn_is_accepted(client: FlaskClient) -> None:
    """A message opens a turn: 202 with an address, and the turn at that address is queued."""
    answer = client.post("/v1/turns", json={"message": "hi"})

    assert answer.status_code == 202
    accepted = answer.get_json()
    assert set(accepted) == {"turn_id", "conversation_id", "seq", "status", "links"}
    assert (accepted["seq"], accepted["status"]) == (1, "queued")
    assert answer.headers["Location"] == accepted["links"]["self"] == f"/v1/turns/{accepted['turn_id']}"
    assert client.get(accepted["links"]["self"]).get_json()["status"] == "queued"


def test_turn_is_accepted_while_the_broker_is_out(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing can be published, the turn is recorded and answered with 202 all the same."""
    monkeypatch.setattr("turnloom.workers.dispatch.push", _refuse)

    accepted = _post(client)

    assert client.get(accepted["links"]["self"]).get_json()["status"] == "queued"


def _refuse(*_: object, **__: object) -> None:
    raise OSError("connection refused")


def test_sequence_of_a_conversation(client: FlaskClient) -> None:
    """Turns of a conversation are numbered from 1, in the order of their acceptance."""
    numbers = [_post(client, conversation_id="a/b//c?d#e", on_busy="enqueue")["seq"] for _ in range(3)]

    assert numbers == [1, 2, 3]


@pytest.mark.parametrize("through", ["body", "header"])
def test_repeated_message(client: FlaskClient, through: str) -> None:
    """A repeated message id gets the first answer again, or 409 if the body differs."""
    body = {"message_id": "m1"} if through == "body" else {}
    headers = {"Idempotency-Key": "m1"} if through == "header" else {}
    first = client.post("/v1/turns", json={"message": "hi", **body}, headers=headers)

    again = client.post("/v1/turns", json={"on_busy": "auto", "message": "hi", "message_id": "m1"})
    other = client.post("/v1/turns", json={"message": "ho", **body}, headers=headers)

    assert (first.status_code, again.status_code) == (202, 200)
    assert first.get_json() == again.get_json()
    assert first.headers["Location"] == again.headers["Location"]
    assert (other.status_code, other.get_json()["code"]) == (409, "message_id_reused")


@pytest.mark.parametrize("header", ["m2", "a b", "é", "x" * 129])
def test_bad_idempotency_key(client: FlaskClient, header: str) -> None:
    """A key that contradicts the body or is malformed is refused."""
    body = {"message": "hi"} | ({"message_id": "m1"} if header == "m2" else {})

    answer = client.post("/v1/turns", json=body, headers={"Idempotency-Key": header})

    assert answer.status_code == 422
    assert answer.get_json()["errors"][0]["field"] == "Idempotency-Key"


def test_fifty_posts_of_one_message(app: APIFlask, client: FlaskClient) -> None:
    """Fifty posts of one message at once open one turn; all get the same answer."""
    start, headers = threading.Barrier(10), {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}

    def post(number: int) -> tuple[int, Any]:
        if number < 10:
            start.wait()
        answer = app.test_client().post("/v1/turns", json={"message": "hi", "message_id": "m1"}, headers=headers)
        return answer.status_code, answer.get_json()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(post, range(50)))

    assert sorted(status for status, _ in answers) == [200] * 49 + [202]
    assert len({answer["turn_id"] for _, answer in answers}) == 1
    assert len(client.get("/v1/conversations").get_json()["items"]) == 1


def test_busy_conversation(client: FlaskClient) -> None:
    """With `on_busy: reject` a message is refused while another turn is unfinished; otherwise it queues."""
    _post(client, conversation_id="c")

    refused = client.post("/v1/turns", json={"message": "hi", "conversation_id": "c", "on_busy": "reject"})
    queued = _post(client, conversation_id="c", on_busy="enqueue")

    assert (refused.status_code, refused.get_json()["code"]) == (409, "busy")
    assert queued["seq"] == 2


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"agent": "nobody"}, 404, "not_found"),
        ({"llm": "unheard-of"}, 422, "invalid"),
        ({"plan": {}}, 422, "invalid_plan"),
    ],
    ids=str,
)
def test_refused_options(client: FlaskClient, body: dict[str, Any], status: int, code: str) -> None:
    """An unknown or unsupported option is refused, and nothing is recorded."""
    answer = client.post("/v1/turns", json={"message": "hi", **body})

    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert client.get("/v1/conversations").get_json()["items"] == []


def test_mode_of_the_agent(client: FlaskClient, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mode that the agent does not work in is refused, also if the agent is the conversation's own."""
    profile = (settings().prompts_dir / "agents" / "generic.yaml").read_text()
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "generic.yaml").write_text(profile)
    only = profile.replace("name: generic", "name: planner").replace("[auto, direct, plan, react, adaptive]", "[plan]")
    (tmp_path / "agents" / "planner.yaml").write_text(only.replace("mode: auto", "mode: plan"))
    monkeypatch.setenv("TURNLOOM_PROMPTS_DIR", str(tmp_path))
    settings.cache_clear()
    from turnloom.web.app import create_app  # noqa: PLC0415 - a second application, with these agents

    other = create_app().test_client()
    other.environ_base.update(client.environ_base)
    _post(other, conversation_id="c", agent="planner")

    answer = other.post("/v1/turns", json={"message": "hi", "conversation_id": "c", "mode": "direct"})

    assert (answer.status_code, answer.get_json()["errors"][0]["code"]) == (422, "mode_not_allowed")


def test_language_model_of_the_message(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message names a language model that the settings allow. Any other name, or a URL, is refused with the list."""
    monkeypatch.setenv("TURNLOOM_LLM_MODELS", '{"small": {"base_url": "https://models.example/v1"}}')
    settings.cache_clear()

    accepted = _post(client, llm="small")
    refused = [client.post("/v1/turns", json={"message": "hi", "llm": llm}) for llm in ("large", "http://10.0.0.1/v1")]

    turn = claim_turn(UUID(accepted["turn_id"]))
    assert turn is not None
    assert turn.llm == "small"
    for answer in refused:
        [fault] = answer.get_json()["errors"]
        assert (answer.status_code, fault["field"], fault["code"]) == (422, "llm", "llm_not_allowed")
        assert fault["detail"] == "these language models may be named: gpt-4o, small"


def test_plan_of_the_caller(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """A caller's plan is stored as given. It needs the scope, and may use only the agent's tools."""
    headers = key("turns:write", "turns:read")

    accepted = _post(client, plan=_PLAN, agent="travel")
    without_scope = app.test_client().post("/v1/turns", json={"message": "hi", "plan": _PLAN}, headers=headers)
    foreign = {"steps": [{"id": "a", "tool": "sim.wait", "args": {"ms": 1}}]}
    without_tool = client.post("/v1/turns", json={"message": "hi", "plan": foreign, "agent": "travel"})

    turn = claim_turn(UUID(accepted["turn_id"]))
    assert turn is not None
    assert turn.submitted_plan == _PLAN
    assert (without_scope.status_code, without_scope.get_json()["code"]) == (403, "scope_missing")
    assert without_tool.get_json()["errors"][0]["code"] == "unknown_tool"


def test_faults_of_a_plan(client: FlaskClient) -> None:
    """Every fault of a caller's plan is listed with its step."""
    plan = {
        "steps": [
            {"id": "a", "tool": "no.such", "needs": ["ghost"]},
            {"id": "b", "tool": "dates.resolve_hint", "args": {"hint": 7}, "needs": ["b"]},
        ]
    }

    answer = client.post("/v1/turns", json={"message": "hi", "plan": plan})

    assert answer.status_code == 422
    found = {(error["step"], error["code"]) for error in answer.get_json()["errors"]}
    assert {("a", "unknown_tool"), ("a", "dangling_need"), ("b", "bad_argument"), ("b", "self_dependency")} <= found


def test_wait_for_a_finished_turn(app: APIFlask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `wait` the answer is the finished turn, as soon as its end is announced, without polling."""
    looked = Mock(wraps=turn_snapshots.read)
    monkeypatch.setattr(turn_snapshots, "read", looked)
    headers = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}

    def post() -> Any:
        return app.test_client().post("/v1/turns?wait=8", json={"message": "hi", "message_id": "m1"}, headers=headers)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(post)
        accepted = None
        while accepted is None:
            found = client.get("/v1/conversations").get_json()["items"]
            accepted = found[0]["active_turn_id"] if found else None
        turn = claim_turn(UUID(accepted))
        assert turn is not None
        wait_for(lambda: hub()._hears)
        announce(turn.id, turn.events)
        finished = finish_turn(turn, text="there you are")
        assert finished is not None
        announce(turn.id, finished.events)
        answer = waiting.result()

    assert answer.status_code == 200
    assert answer.get_json()["status"] == "succeeded"
    assert answer.get_json()["reply"]["text"] == "there you are"
    assert looked.call_count == 1
    assert not hub()._readers


def test_wait_in_vain(client: FlaskClient) -> None:
    """A turn that does not finish in time is answered with 202."""
    answer = client.post("/v1/turns?wait=0.1", json={"message": "hi"})

    assert answer.status_code == 202


def test_database_is_out(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """While Postgres is down the answer is 503 and says when to try again."""

    def refuse(_: object) -> None:
        raise Unavailable("Postgres does not answer", code="database_unavailable")

    monkeypatch.setattr("turnloom.web.ingest.statement", refuse)

    answer = client.post("/v1/turns", json={"message": "hi"})

    assert (answer.status_code, answer.get_json()["code"]) == (503, "database_unavailable")
    assert int(answer.headers["Retry-After"]) >= 1


def test_logged_line(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    """An accepted turn is logged as one line with ids, without the message or the key."""
    with caplog.at_level("INFO", logger="turnloom"):
        accepted = _post(client, message="my secret wish")

    lines = [record.getMessage() for record in caplog.records if "turn.received" in record.getMessage()]
    assert len(lines) == 1
    assert accepted["turn_id"] in lines[0]
    assert "secret" not in caplog.text
    assert "tl_" not in caplog.text


def test_first_event_is_recorded(client: FlaskClient) -> None:
    """When the caller gets the answer, the ledger has the turn's first event."""
    accepted = _post(client)

    with transaction() as db:
        assert turns.get(db, UUID(accepted["turn_id"])) is not None

    assert [event.type for event in recorded_events(UUID(accepted["turn_id"]))] == ["turn.queued"]
