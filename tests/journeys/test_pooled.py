"""The whole service works behind PgBouncer in transaction mode, with four connections to Postgres in all."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.chaos.drills import PLAN
from tests.conftest import new_database
from tests.journeys.following import finished, kinds, post
from tests.pooler import SERVER_CONNECTIONS, pooled
from turnloom.models.runtime.settings import settings
from turnloom.workers.embedded.servers import EmbeddedServers
from turnloom.workers.embedded.stack import Stack, StackOptions

TURNS = 24


@pytest.fixture(scope="module")
def behind(servers: EmbeddedServers, prompts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose database is reached through PgBouncer."""
    folder = tmp_path_factory.mktemp("pooled")
    own = {"TURNLOOM_PROMPTS_DIR": str(prompts), "TURNLOOM_DATABASE_POOLED": "true"}
    with (
        pytest.MonkeyPatch.context() as patch,
        new_database(servers, patch) as direct,
        pooled(direct, folder / "pooler") as through,
    ):
        patch.setenv("DATABASE_URL", through)
        settings.cache_clear()
        with Stack(StackOptions(data_dir=folder / "data", port=0, tool_workers=1, settings=own)) as stack:
            yield stack


@pytest.fixture
def client(behind: Stack) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {behind.dev_key}"}
    with httpx2.Client(base_url=behind.url, headers=headers, timeout=40) as api:
        yield api


@pytest.mark.parametrize("placement", ["spread", "dense"])
def test_turns_run_as_usual(behind: Stack, client: httpx2.Client, servers: EmbeddedServers, placement: str) -> None:
    """Plans of several steps and answers of the language model run at the same time, and no process logs an error."""
    requests = [{"message": "What day is it today?"}, {"plan": {"steps": PLAN}}] * (TURNS // 2)

    with ThreadPoolExecutor(8) as pool:
        posted = list(pool.map(lambda request: post(client, agent=f"capped-{placement}", **request), requests))
    turns = [finished(client, each["turn_id"], 40) for each in posted]
    told = kinds(client, turns[-1]["turn_id"])

    assert [turn["status"] for turn in turns] == ["succeeded"] * TURNS
    assert told[-1] == "turn.succeeded"
    assert _server_connections(behind, servers) <= SERVER_CONNECTIONS
    assert _errors(behind) == []


def _server_connections(stack: Stack, servers: EmbeddedServers) -> int:
    """Count the connections to this database that the application's role has."""
    assert servers.postgres
    with psycopg.connect(servers.postgres.url) as db:
        query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'turnloom' AND datname = %s"
        row = db.execute(query, [stack.database_url.rpartition("/")[2]]).fetchone()
    assert row
    return int(row[0])


def _errors(stack: Stack) -> list[str]:
    """Return everything that a process has logged as an error or as a failure of the database."""
    lines = [line for path in stack.servers.home.logs.glob("*.log") for line in path.read_text("utf-8").splitlines()]
    records = [json.loads(line) for line in lines if line.startswith("{")]
    found = [record for record in records if record["level"] == "error" or "database_" in str(record)]
    # While the processes start, the stack polls these routes.
    return [str(record) for record in found if record.get("route") not in ("/healthz", "/readyz")]
