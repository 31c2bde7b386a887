"""Over the API and the command line, an erasure leaves a record, and removed records are detected."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.facts import wait_for
from tests.journeys.following import finished, post
from tests.journeys.stacks import client_of
from tests.journeys.telegram_bot import ACCOUNT, TelegramBot
from turnloom.workers.broker.app import app
from turnloom.workers.embedded.stack import Stack

pytestmark = pytest.mark.timeout(120)  # the first test may also have to start the stack


def audit(python: list[str], stack: Stack, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*python, "-m", "turnloom.workers.cli", "audit", *words]
    environment = {**os.environ, **stack.environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def faults(python: list[str], stack: Stack, conversation_id: str) -> list[dict[str, Any]]:
    done = audit(python, stack, "verify", "--conversation", conversation_id, "--json")
    found: list[dict[str, Any]] = json.loads(done.stdout)["faults"]
    return found


def test_records_that_a_superuser_removes_are_missed(
    api: httpx2.Client, stack: Stack, loaded_python: list[str]
) -> None:
    """An erased conversation verifies, and its record says so. Verification reports one whose records are all gone."""
    turn = finished(api, post(api, plan={"steps": []}, agent="generic")["turn_id"])
    conversation_id = turn["conversation_id"]
    assert api.delete(f"/v1/conversations/{conversation_id}").status_code == 204
    anchored = audit(loaded_python, stack, "anchor")

    records = api.get("/v1/audit", params={"conversation_id": conversation_id}).json()["items"]
    whole = faults(loaded_python, stack, conversation_id)
    with removed(stack, conversation_id):
        gone = faults(loaded_python, stack, conversation_id)

    assert anchored.returncode == 0
    assert [record["kind"] for record in records] == [
        "turn.received",
        "plan.recorded",
        "turn.finished",
        "conversation.erased",
    ]
    assert [record["content"] for record in records[:-1]] == [None] * 3
    assert (records[-1]["content"]["through"], records[-1]["content"]["by"]) == (3, "development")
    assert (whole, [fault["message"].partition(":")[0] for fault in gone]) == ([], ["the record is missing"])


def test_all_that_happens_in_a_conversation_is_in_its_chain(
    stack: Stack, bot: TelegramBot, loaded_python: list[str], tmp_path: Path
) -> None:
    """A call that its person approves in chat, the reply, feedback, a takeover. A stranger verifies the export."""
    conversation, turn, records = held_conversation(stack, bot)
    texts = proven(loaded_python, stack, conversation, tmp_path)

    assert [record["kind"] for record in records if record["kind"] != "delivery.ended"] == [
        "turn.received",
        "plan.recorded",
        "calls.claimed",
        "approval.requested",
        "approval.decided",
        "calls.claimed",
        "calls.ended",
        "turn.finished",
        "feedback.given",
        "conversation.paused",
        "message.written",
        "conversation.resumed",
    ]
    sent = [record["content"] for record in records if record["kind"] == "delivery.ended"]
    assert [content["status"] for content in sent] == ["sent"] * 3
    (ended,) = [record["content"] for record in records if record["kind"] == "calls.ended"]
    assert conversation.endswith(ended["user"])
    assert [(call["tool"], call["status"]) for call in ended["calls"]] == [("sim.approve", "succeeded")]
    assert faults(loaded_python, stack, conversation) == []
    assert {"write seven, but ask me first", "This is Dana.", turn["reply"]["text"]} <= texts


def held_conversation(stack: Stack, bot: TelegramBot) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """Hold a conversation on Telegram. Return its id, its first turn and its records."""
    with client_of(stack) as api:
        person = bot.new_person()
        conversation = f"telegram:{ACCOUNT}:{person}"
        assert bot.post(bot.update(person, "write seven, but ask me first")) == 200
        wait_for(lambda: bot.texts(person), within_s=30)
        assert bot.post(bot.tap(person, 0)) == 200
        wait_for(lambda: bot.are_final(person) and len(bot.texts(person)) == 2)
        (turn,) = bot.turns(person)
        api.put(f"/v1/turns/{turn['turn_id']}/feedback", json={"rating": "up"})
        api.post(f"/v1/conversations/{conversation}/pause")
        api.post(f"/v1/conversations/{conversation}/messages", json={"message": "This is Dana.", "author": "Dana"})
        wait_for(lambda: bot.are_final(person) and len(bot.texts(person)) == 3)
        api.post(f"/v1/conversations/{conversation}/resume")
        return conversation, turn, every(api, conversation)


def proven(python: list[str], stack: Stack, conversation_id: str, folder: Path) -> set[str]:
    """Export a conversation, and verify it as a stranger with the public key does. Return the texts of the bundle."""
    out = folder / "proof.zip"
    done = audit(python, stack, "export", "--conversation", conversation_id, "--out", str(out), "--json")
    with zipfile.ZipFile(out) as archive:
        archive.extractall(folder)
    key = json.loads(done.stdout)["public_key"]
    script = [sys.executable, "-I", "-S", str(folder / "verify.py"), str(folder / "bundle.json"), key]
    assert subprocess.run(script, check=False, capture_output=True).returncode == 0
    return set(json.loads((folder / "bundle.json").read_bytes())["texts"].values())


def every(api: httpx2.Client, conversation_id: str) -> list[dict[str, Any]]:
    """Return all audit records of a conversation, page by page."""
    found: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"conversation_id": conversation_id, "limit": 5}
    while True:
        page = api.get("/v1/audit", params=asked).json()
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        asked["cursor"] = page["next_cursor"]


def test_workers_seal_the_log(api: httpx2.Client, stack: Stack) -> None:
    """Workers seal with the key that the embedded stack keeps, and each head is a line of the log."""
    finished(api, post(api, plan={"steps": []}, agent="generic")["turn_id"])
    with app.connection_for_write(stack.redis_url) as connection:
        app.send_task("seal_audit", queue="maintenance", connection=connection)

    def logs() -> str:
        return "".join(path.read_text("utf-8", "replace") for path in stack.servers.home.logs.glob("worker*"))

    wait_for(lambda: "audit.sealed" in logs(), 20)


@contextmanager
def removed(stack: Stack, conversation_id: str) -> Iterator[None]:
    """Remove a conversation and its records while the block runs."""
    tables = (("audit", "conversation_id"), ("conversations", "id"))
    with psycopg.connect(stack.servers.owner_url, autocommit=True) as owner:
        for table, column in tables:
            where = f"FROM {table} WHERE {column} = %s"
            owner.execute(f"CREATE TEMP TABLE kept_{table} AS SELECT * {where}", [conversation_id])
            owner.execute(f"DELETE {where}", [conversation_id])
        try:
            yield
        finally:
            for table, _ in tables:
                owner.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")
