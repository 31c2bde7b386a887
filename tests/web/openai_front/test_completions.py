"""OpenAI's protocol, to the letter where a client reads it."""

from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn, record_plan, step
from tests.models.ledger.stopping import end
from tests.web.conftest import KeyMaker
from tests.web.openai_front.transcripts import chunks, content, post, said
from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import announce
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings

_HI = said("Hi")


def test_models_are_agents(client: FlaskClient) -> None:
    """Every agent is a model, and a model can be asked for by its name."""
    listed = client.get("/v1/models").get_json()

    agents = [agent["name"] for agent in client.get("/v1/agents").get_json()["items"]]
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == agents
    assert client.get("/v1/models/travel").get_json() == listed["data"][agents.index("travel")]


def test_chunks_of_a_turn(client: FlaskClient) -> None:
    """A stream has the role, the text, the end and at last the usage; steps only if they are asked for."""
    options = {"stream_options": {"include_usage": True}, "metadata": {"steps": "true"}}
    with post(client, _HI, **options) as answer:
        turn = claim_turn(UUID(answer.headers["X-Turnloom-Turn-Id"]))
        assert turn is not None
        record_plan(turn, step("a"))
        with statement() as db:
            db.execute("UPDATE turns SET status = 'responding' WHERE id = %s", (turn.id,))
        finished = finish_turn(turn, text="All done.")
        assert finished is not None
        announce(turn.id, finished.events)
        told = chunks(answer.text)

    ids = {(chunk["id"], chunk["object"], chunk["model"], chunk["turnloom_turn_id"]) for chunk in told}
    assert ids == {(f"chatcmpl-{turn.id}", "chat.completion.chunk", "travel", str(turn.id))}
    assert told[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert told[-2]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    assert (told[-1]["choices"], told[-1]["usage"]["total_tokens"]) == ([], 0)
    assert all(chunk["usage"] is None for chunk in told[:-1])
    (planned,) = [chunk for chunk in told if "turnloom" in chunk]
    assert planned["choices"] == []
    assert (planned["turnloom"]["type"], planned["turnloom"]["data"]["steps"][0]["id"]) == ("plan.ready", "a")


def test_a_superseded_turn_ends_its_stream_with_its_reply(client: FlaskClient) -> None:
    """No event tells the reply of a turn that another one has replaced. Its client is not left without a word."""
    with post(client, _HI) as answer:
        turn = claim_turn(UUID(answer.headers["X-Turnloom-Turn-Id"]))
        assert turn is not None
        newer = {"message": "Wait", "conversation_id": turn.conversation_id, "on_busy": "interrupt"}
        assert client.post("/v1/turns", json=newer).status_code == 202
        finished = end(turn.id, turn.attempt + 1, "superseded")
        assert finished is not None
        announce(turn.id, finished.events)
        text = answer.text

    assert content(text) == "stopped"


@pytest.mark.parametrize(
    ("body", "status", "param", "code"),
    [
        ({"n": 2}, 400, "n", "unsupported_value"),
        ({"model": "gpt-4"}, 404, "model", "model_not_found"),
        ({"messages": []}, 400, "messages", "too_short"),
        ({"messages": said("  ")}, 400, "messages[0].content", "value_error"),
        ({"messages": said("x" * 8001)}, 400, "messages[0].content", "string_too_long"),
        ({"messages": said("a", "b")[1:]}, 400, "messages", "no_user_message"),
        ({"metadata": {"conversation_id": "two words"}}, 400, "metadata.conversation_id", "string_pattern_mismatch"),
        ({"user": "two words"}, 400, "user", "string_pattern_mismatch"),
        ({"stream": "yes"}, 400, "stream", "bool_type"),
    ],
)
def test_errors(client: FlaskClient, body: dict[str, Any], status: int, param: str, code: str) -> None:
    """An error has OpenAI's shape, and names the parameter as the client wrote it."""
    answer = client.post("/v1/chat/completions", json={"model": "travel", "messages": _HI, **body})

    error = answer.get_json()["error"]
    assert answer.status_code == status
    assert answer.content_type == "application/json"
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert "Traceback" not in error["message"]


def test_errors_before_the_body(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """No key, a key without the scope, a body too large, no JSON and another method have the same shape."""
    size = settings().api_max_body_bytes + 1
    huge, broken = (
        client.post("/v1/chat/completions", data=data, content_type="application/json") for data in (b"x" * size, b"{")
    )
    unread = app.test_client().post(
        "/v1/chat/completions", json={"model": "travel", "messages": _HI}, headers=key("turns:write")
    )
    answers = [app.test_client().get("/v1/models"), unread, huge, broken, client.get("/v1/chat/completions")]

    errors = [answer.get_json()["error"] for answer in answers]
    assert [answer.status_code for answer in answers] == [401, 403, 413, 400, 405]
    assert [error["type"] for error in errors[:2]] == ["authentication_error", "permission_error"]
    assert errors[0]["code"] == "invalid_api_key"
    assert {error["type"] for error in errors[2:]} == {"invalid_request_error"}


def test_an_overload_says_when_to_come_again(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Postgres is out, the answer is 503 with Retry-After, in OpenAI's shape."""

    def refuse(_: object) -> None:
        raise Unavailable("Postgres does not answer", code="database_unavailable")

    monkeypatch.setattr("turnloom.web.ingest.statement", refuse)

    answer = post(client, _HI)

    assert (answer.status_code, answer.get_json()["error"]["type"]) == (503, "server_error")
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_stream_too_many_opens_no_turn(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is told to come again before its message is taken, so that it can send the same one later."""
    monkeypatch.setattr(settings(), "api_streams_per_key", 1)
    with post(client, _HI):
        refused = [post(client, said("Hello")), client.post("/api/ai/chat", json={"messages": said("Hello")})]

    assert [answer.status_code for answer in refused] == [429, 429]
    with statement() as db:
        assert db.execute("SELECT count(*) FROM turns").fetchone() == (1,)


def test_parameters_without_meaning_are_listed(client: FlaskClient) -> None:
    """They are accepted, whatever they are, and a header names those that were given."""
    instructed = [{"role": "system", "content": "Be brief."}, *_HI]
    extra = {"temperature": 0.2, "tools": [], "seed": None, "x\r\ny": 1, "logit_bias": {}, "n": 1}

    answer = post(client, instructed, **extra)

    assert answer.status_code == 200
    assert answer.headers["X-Turnloom-Ignored"] == "logit_bias, messages.system, temperature, tools"


@pytest.mark.parametrize(
    ("tier", "priority", "ignored"),
    [("flex", "batch", None), ("priority", "interactive", "service_tier"), (None, "interactive", None)],
)
def test_the_flexible_tier_is_a_batch(
    client: FlaskClient, tier: str | None, priority: str, ignored: str | None
) -> None:
    """Nobody waits for such a reply, as with OpenAI's own. Other tiers have no meaning here."""
    answer = post(client, _HI, service_tier=tier)

    turn = client.get(f"/v1/turns/{answer.headers['X-Turnloom-Turn-Id']}").get_json()
    assert (turn["priority"], answer.headers.get("X-Turnloom-Ignored")) == (priority, ignored)


def test_a_client_that_leaves_does_not_stop_its_turn(client: FlaskClient) -> None:
    """The turn is recorded before the stream begins, and goes on without it."""
    answer = post(client, _HI)
    answer.close()

    turn = claim_turn(UUID(answer.headers["X-Turnloom-Turn-Id"]))

    assert turn is not None
    assert finish_turn(turn) is not None


def test_a_reply_that_takes_too_long(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that has not ended when the patience has is not lost: the same request again waits for the same turn."""
    monkeypatch.setattr("turnloom.web.openai_front.completions._PATIENCE_S", 0.05)
    body = {"model": "travel", "messages": _HI}

    first, second = (
        client.post("/v1/chat/completions", json=body, headers={"X-Stainless-Retry-Count": attempt})
        for attempt in ("0", "1")
    )

    assert first.status_code == second.status_code == 503
    assert first.get_json()["error"]["code"] == "turn_unfinished"
    assert int(first.headers["Retry-After"]) >= 1
    assert len(client.get("/v1/conversations").get_json()["items"]) == 1
