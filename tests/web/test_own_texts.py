"""A tenant's own prompts and agents are shown, tried, set, rolled back and removed over HTTP."""

from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, record_plan, step, work
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import transaction

_STYLE = "---\nname: styles/brief\nversion: {version}\ninputs: []\n---\nBe {how}.\n"


def _set(client: FlaskClient, **body: Any) -> dict[str, Any]:
    answer = client.put("/v1/prompts/styles/brief", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def _shown(client: FlaskClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/v1/prompts/styles/brief").get_json()
    return found


def test_a_text_is_set_and_rolled_back(client: FlaskClient) -> None:
    """A change counts at once; an earlier version can be set again; the history says by whom and when."""
    shipped = _shown(client)
    first = _set(client, text=_STYLE.format(version=1, how="kind"))
    _set(client, text=_STYLE.format(version=2, how="rude"))

    back = _set(client, version=first["version"])

    shown = _shown(client)
    assert (shipped["origin"], shipped["set_by"], shipped["history"]) == ("shipped", None, [])
    assert "Be kind." in shown["text"]
    assert (shown["origin"], shown["source"], shown["shipped"]) == ("ledger", back["source"], shipped["text"])
    assert [(change["version"], change["change"]) for change in shown["history"]] == [
        (3, "set"),
        (2, "set"),
        (1, "set"),
    ]
    assert shown["set_by"].startswith("key ")
    assert shown["set_at"] == shown["history"][0]["at"]
    assert "Be rude." in client.get("/v1/prompts/styles/brief?version=2").get_json()["text"]


def test_a_removed_text_leaves_the_shipped_one(client: FlaskClient) -> None:
    """After the removal the shipped text counts again, and the history says so."""
    shipped = _shown(client)["text"]
    _set(client, text=_STYLE.format(version=1, how="kind"))

    removed = client.delete("/v1/prompts/styles/brief")
    again = client.delete("/v1/prompts/styles/brief")

    shown = _shown(client)
    assert (removed.status_code, again.status_code) == (200, 404)
    assert (shown["text"], shown["origin"]) == (shipped, "shipped")
    assert [change["change"] for change in shown["history"]] == ["removed", "set"]


def test_a_text_is_tried_without_being_set(client: FlaskClient) -> None:
    """A trial says whether a text can be used and what it says with samples; nothing changes."""
    text = client.get("/v1/prompts/responding/results").get_json()["text"]

    good = client.post("/v1/prompts/check", json={"name": "responding/results", "text": text}).get_json()
    bad = client.post("/v1/prompts/check", json={"name": "responding/results", "text": "{{ nothing }}"}).get_json()
    agent = client.post("/v1/prompts/check", json={"name": "agents/hotel", "text": "style: brief"}).get_json()

    assert good["usable"]
    assert any(good["preview"])
    assert (bad["usable"], bad["preview"]) == (False, [])
    assert "responding/results" in bad["reason"]
    assert agent["usable"]
    assert client.get("/v1/prompts/responding/results").get_json()["history"] == []


def test_a_template_is_tried_with_a_turn(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """A template of replies shows what it would say about a recorded turn of the tenant."""
    turn = claim_turn(UUID(client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"]))
    assert turn is not None
    record_plan(turn, step("a", tool="sim.echo", args={"value": "zanzibar"}))
    with transaction() as db:
        ended = "UPDATE steps SET status = 'succeeded', result = '{\"value\": \"zanzibar\"}', finished_at = now()"
        db.execute(text(ended))
    template = "---\nname: responding/results\nversion: 9\ninputs: [steps]\n---\n{% for step in steps %}"
    good = template + "Found: {{ step.result | readable }}{% endfor %}"
    tried = {"name": "responding/results", "text": good, "turn_id": str(turn.id)}

    shown = client.post("/v1/prompts/check", json=tried)
    theirs = app.test_client().post("/v1/prompts/check", json=tried, headers=key(tenant="theirs"))
    language = client.post("/v1/prompts/check", json={**tried, "name": "languages/de", "text": "messages: {}"})
    failing = client.post("/v1/prompts/check", json={**tried, "text": good.replace("readable", "readable + 1")})

    (said,) = shown.get_json()["preview"]
    assert said.startswith("Found: ")
    assert "zanzibar" in said
    assert theirs.status_code == 404
    assert language.status_code == 422
    assert not failing.get_json()["usable"]


def test_a_text_that_fails_on_a_turns_data_is_told(client: FlaskClient) -> None:
    """In a turn the shipped text would stand in for it; its author is told why it cannot be filled in."""
    turn = claim_turn(UUID(client.post("/v1/turns", json={"message": "zanzibar"}).get_json()["turn_id"]))
    assert turn is not None
    finish_turn(turn)
    fails = '{% if message == "zanzibar" %}{{ user.nothing.more }}{% endif %}{{ message }}'
    message = f"---\nname: planning/message\nversion: 2\ninputs: [message, user]\n---\n{fails}\n"

    tried = {"name": "planning/message", "text": message}
    alone = client.post("/v1/prompts/check", json=tried).get_json()
    of_turn = client.post("/v1/prompts/check", json={**tried, "turn_id": str(turn.id)}).get_json()

    assert alone["usable"], alone
    assert not of_turn["usable"]
    assert of_turn["reason"].startswith("planning/message: it cannot be filled in for this turn")
    assert of_turn["prompts"] == []


def test_a_fault_of_ours_is_not_laid_on_the_text(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a turn of an old release that cannot be read. It is told as ours, and logged. Turns that are too old to
    matter are not read at all."""
    monkeypatch.setattr("turnloom.web.text_trials.PAST", 1)
    turn_ids = []
    for number in range(3):
        message = {"message": f"message {number}", "conversation_id": "c1"}
        turn_ids.append(client.post("/v1/turns", json=message).get_json()["turn_id"])
        work(UUID(turn_ids[-1]))
    tried = {"name": "agents/generic", "text": "persona: You are a pirate.\n", "turn_id": turn_ids[2]}

    checks = []
    for unreadable in turn_ids[:2]:
        with transaction() as db:
            db.execute(text("UPDATE turns SET error = '[]' WHERE id = :id"), {"id": unreadable})
        checks.append(client.post("/v1/prompts/check", json=tried))

    assert (checks[0].status_code, checks[0].get_json()["usable"]) == (200, True)
    assert (checks[1].status_code, checks[1].get_json()["code"]) == (500, "internal_error")
    assert "ValidationError" in caplog.text


def test_the_prompts_of_a_recorded_turn_are_compared(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """What a text changes of the prompts of a turn is shown, before anybody sets it. The turn must have ended."""
    opened = client.post("/v1/turns", json={"message": "zanzibar", "agent": "generic"}).get_json()["turn_id"]
    tried = {"name": "agents/generic", "text": "persona: You are a pirate.\n", "turn_id": opened}
    early = client.post("/v1/prompts/check", json=tried)
    turn = claim_turn(UUID(opened))
    assert turn is not None
    finish_turn(turn)

    agent = client.post("/v1/prompts/check", json=tried).get_json()
    other = client.post("/v1/prompts/check", json={**tried, "name": "agents/hotel", "text": "persona: x\n"}).get_json()
    theirs = app.test_client().post("/v1/prompts/check", json=tried, headers=key(tenant="theirs"))

    plan = next(each for each in agent["prompts"] if each["purpose"] == "plan")
    before, after = (plan[side][0]["content"] for side in ("before", "after"))
    assert (agent["usable"], agent["preview"]) == (True, [])
    assert "You are a pirate." in after
    assert "You are a pirate." not in before
    assert "zanzibar" in plan["after"][-1]["content"]
    assert all(each["before"] == each["after"] for each in other["prompts"])
    assert (early.status_code, theirs.status_code) == (409, 404)
    assert client.get("/v1/prompts/agents/generic").get_json()["history"] == []


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("agents/hotel", "max_parallel: many\nmode: sometimes\n", ["max_parallel", "mode"]),
        ("agents/hotel", "persona: [unclosed\n", ["agents/hotel", "line"]),
        ("styles/brief", _STYLE.format(version=1, how="{{ tone }}"), ["tone"]),
        ("styles/brief", _STYLE.format(version=1, how="{% if %}"), ["line 6: it cannot be compiled"]),
    ],
)
def test_a_refusal_names_the_field_or_the_input(client: FlaskClient, name: str, text: str, named: list[str]) -> None:
    """The trial and the attempt to set it say the same."""
    tried = client.post("/v1/prompts/check", json={"name": name, "text": text}).get_json()
    put = client.put(f"/v1/prompts/{name}", json={"text": text})

    assert not tried["usable"]
    assert all(each in tried["reason"] for each in named), tried["reason"]
    assert (put.status_code, put.get_json()["detail"]) == (422, tried["reason"])


def test_the_list_names_everything(client: FlaskClient) -> None:
    """Every text is listed with its source, and the tenant's own with its author."""
    _set(client, text=_STYLE.format(version=7, how="kind"))

    items = {item["name"]: item for item in client.get("/v1/prompts").get_json()["items"]}

    assert {"agents/hotel", "responding/results", "styles/brief", "languages/de"} <= set(items)
    assert items["styles/brief"]["source"].startswith("styles/brief@7+")
    assert (items["agents/hotel"]["origin"], items["agents/hotel"]["set_at"]) == ("shipped", None)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"text": "x", "version": 1}, 422),
        ({"text": "no front matter"}, 422),
        ({"text": "x" * 70_000}, 422),
        ({"version": 99}, 404),
    ],
)
def test_what_cannot_be_used_is_not_set(client: FlaskClient, body: dict[str, Any], status: int) -> None:
    """A refusal says why, and nothing has changed."""
    answer = client.put("/v1/prompts/styles/brief", json=body)

    assert answer.status_code == status
    assert _shown(client)["history"] == []


@pytest.mark.parametrize("name", ["nowhere", "../secrets", "offline/nothing", "agents/../../etc"])
def test_unknown_names(client: FlaskClient, name: str) -> None:
    """What is no text of ours is not there, and cannot be set."""
    assert client.get(f"/v1/prompts/{name}").status_code == 404
    assert client.put(f"/v1/prompts/{name}", json={"text": "x"}).status_code in (404, 422)
    assert client.delete(f"/v1/prompts/{name}").status_code == 404


def test_tenants_have_their_own(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """Another tenant sees the shipped text and no history."""
    _set(client, text=_STYLE.format(version=1, how="kind"))
    stranger = app.test_client()
    stranger.environ_base["HTTP_AUTHORIZATION"] = key(tenant="theirs")["Authorization"]

    shown = _shown(stranger)

    assert (shown["origin"], shown["history"]) == ("shipped", [])
    assert stranger.get("/v1/prompts/styles/brief?version=1").status_code == 404
