"""A tenant's own prompts and agents are shown, tried, set, rolled back and removed over HTTP."""

from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from sqlalchemy import text

from tests.factories import claim_turn, record_plan, step
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
    style = client.post(
        "/v1/prompts/check", json={**tried, "name": "styles/brief", "text": _STYLE.format(version=1, how="x")}
    )

    (said,) = shown.get_json()["preview"]
    assert said.startswith("Found: ")
    assert "zanzibar" in said
    assert theirs.status_code == 404
    assert style.status_code == 422


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
