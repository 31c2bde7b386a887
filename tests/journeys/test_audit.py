"""Over the API and the command line, an erasure leaves a record, and removed records are detected."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import psycopg

from tests.facts import wait_for
from tests.journeys.following import finished, post
from turnloom.workers.broker.app import app
from turnloom.workers.embedded.stack import Stack


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
    assert [record["kind"] for record in records] == ["turn.received", "turn.finished", "conversation.erased"]
    assert [record["content"] for record in records] == [None, None, {"through": 2}]
    assert (whole, [fault["message"].partition(":")[0] for fault in gone]) == ([], ["the record is missing"])


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
