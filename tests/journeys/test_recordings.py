"""What language models were sent and answered is kept with its turn, each text once, and erased with it."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import psycopg
import pytest

from tests.journeys.conftest import Cli
from tests.journeys.following import finished, post
from turnloom.workers.embedded.stack import Stack

CARD = "4111 1111 1111 1111"


@pytest.fixture(scope="module")
def inn(stack: Stack, cli: Cli) -> Iterator[httpx2.Client]:
    """A client of a tenant that has no other turns."""
    cli("tenant", "create", "inn")
    scopes = "turns:read,turns:write,admin"
    key = json.loads(cli("key", "create", "--tenant", "inn", "--scopes", scopes, "--json"))["key"]
    with httpx2.Client(base_url=stack.url, headers={"X-Api-Key": key}, timeout=40) as client:
        yield client


def said(api: httpx2.Client, message: str) -> list[dict[str, Any]]:
    """Let the hotel's agent answer; return the recordings of the planning calls."""
    user = {"id": "noa", "timezone": "Asia/Tokyo"}
    turn = finished(api, post(api, message, agent="hotel", conversation_id="kept", user=user)["turn_id"])
    assert turn["status"] == "succeeded"
    trace = api.get(f"/v1/turns/{turn['turn_id']}/trace.json").json()
    return [call["recording"] for call in trace["llm_calls"] if call["purpose"] == "plan"]


def stored(stack: Stack) -> dict[str, int]:
    """Return how many texts of each role the tenant has, and how many calls."""
    with psycopg.connect(stack.database_url) as db:
        tenant = "tenant_id = (SELECT id FROM tenants WHERE name = 'inn')"
        texts = db.execute(f"SELECT role, count(*) FROM recorded_texts WHERE {tenant} GROUP BY role".encode())
        found = dict(texts.fetchall())
        calls = db.execute(f"SELECT count(*) FROM recorded_calls WHERE {tenant}".encode()).fetchone()
    assert calls
    return {**found, "calls": calls[0]}


def test_two_turns_share_their_rules_and_are_erased_together(inn: httpx2.Client, stack: Stack) -> None:
    """The prompts are as the model got them, with the time of the user's zone; the rules of both are one text."""
    (first,) = said(inn, f"Do you have a gym? My card is {CARD}")
    (second,) = said(inn, "Do you have a pool?")

    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]
    assert first["messages"][0] == second["messages"][0]
    assert "My card is [card]" in first["messages"][1]["content"]
    assert "My card is [card]" in second["messages"][1]["content"]
    assert first["now"].endswith("+09:00")
    assert json.loads(first["answer"])["steps"]
    assert first["parameters"]["form"] == "schema"
    assert first["response_schema"]["type"] == "object"
    kept = stored(stack)
    assert (kept["system"], kept["schema"], kept["calls"]) == (1, 1, 2)
    inn.delete("/v1/conversations/kept").raise_for_status()
    assert stored(stack) == {"calls": 0}
