"""The plug-in of the how-to has a table, a setting, a template, an erasure and a command of its own, and they work."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest
from click.testing import CliRunner

from tests.conftest import stack_on
from tests.docs.pages import ROOT, blocks
from tests.installing import install
from tests.journeys.stacks import client_of
from turnloom.models.ledger.keys import DEVELOPMENT_TENANT
from turnloom.workers.cli import main
from turnloom.workers.embedded.servers import EmbeddedServers
from turnloom.workers.embedded.stack import Stack

Run = Callable[..., tuple[int, str]]

pytestmark = pytest.mark.timeout(120)  # the time for a separate stack and eight commands

PAGE = ROOT / "docs" / "how-to" / "write-a-plug-in.md"
PLACES = {"Paris": {"lat": 48.8566, "lon": 2.3522}, "Rome": {"lat": 41.9028, "lon": 12.4964}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the project of the page. Return its folder."""
    folder = tmp_path_factory.mktemp("plug-in")
    CliRunner().invoke(main, ["tools", "new", "distance", "--dir", str(folder)], catch_exceptions=False)
    (folder / "turnloom-distance" / "turnloom_distance" / "words.py").unlink()
    for block in blocks(PAGE):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
    install(folder / "turnloom-distance", folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def stack(servers: EmbeddedServers, site: Path) -> Iterator[Stack]:
    own = {
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "TURNLOOM_PACKS": '["dates", "distance"]',
        "TURNLOOM_DISTANCE_UNIT": "mi",
    }
    with stack_on(servers, tool_workers=1, **own) as stack:
        yield stack


@pytest.fixture
def run(stack: Stack, loaded_python: list[str]) -> Run:
    """Run `turnloom` as the operator of that stack. Return its exit code and its output."""

    def call(*arguments: str, **variables: str) -> tuple[int, str]:
        owner = {"TURNLOOM_OWNER_DATABASE_URL": stack.servers.owner_url}
        command = [*loaded_python, "-m", "turnloom.workers.cli", *arguments]
        environment = {**os.environ, **stack.environment, **owner, **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return call


def stop_at(api: httpx2.Client, place: str) -> str:
    """Let a turn note a stop. Return the reply."""
    step = {"id": "stop", "tool": "distance.note_stop", "args": PLACES[place]}
    plan = {"action": "Note a stop", "steps": [step], "synthesis_hint": "way_told"}
    body = {"message": f"I am in {place}", "conversation_id": "trip", "agent": "logbook", "plan": plan}
    answer = api.post("/v1/turns?wait=30", json=body).json()
    return str(answer["reply"]["text"])


def stops(stack: Stack) -> int:
    with psycopg.connect(stack.database_url) as db:
        row = db.execute("SELECT count(*) FROM distance_stops").fetchone()
    assert row
    return int(row[0])


def test_a_turn_uses_what_the_plug_in_owns(stack: Stack, run: Run) -> None:
    """Its table has the stops, its setting the unit, and its template words the reply.

    Its command lists the rows. Erasing deletes them.
    """
    with client_of(stack) as api:
        replies = [stop_at(api, place) for place in PLACES]
        kept = stops(stack)
        listed = run("distance", "stops", "trip", "--tenant", DEVELOPMENT_TENANT)
        erased = api.delete("/v1/conversations/trip").status_code

    assert replies == ["Stop 1, after 0.0 mi.", "Stop 2, after 686.8 mi."]
    assert (kept, erased, stops(stack)) == (2, 204, 0)
    assert listed == (0, "lat\tlon\n48.8566\t2.3522\n41.9028\t12.4964\n")


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"TURNLOOM_DISTANCE_UNIT": "yards"}, "TURNLOOM_DISTANCE_UNIT: input should be 'km' or 'mi'"),
        ({"TURNLOOM_DISTANCE_UNITS": "km"}, "did you mean TURNLOOM_DISTANCE_UNIT?"),
        (
            {"TURNLOOM_PACKS": '["dates"]'},
            "tables of the pack 'distance' (revision distance_0001), which is not",
        ),
    ],
    ids=["value", "name", "pack"],
)
def test_the_doctor_knows_its_settings_and_its_tables(run: Run, variables: dict[str, str], told: str) -> None:
    """A wrong value, a misspelt name and a pack that was switched off are reported in a sentence."""
    _, said = run("doctor", **variables)

    assert told in said


def test_its_tables_are_dropped_before_the_package(run: Run) -> None:
    """Without the pack nothing can be migrated. Once its own migrations have dropped its tables, it can."""
    without = {"TURNLOOM_PACKS": '["dates"]'}
    refused = run("migrate", **without)
    dropped = run("migrate", "--drop", "distance")
    migrated = run("migrate", **without)

    assert refused[0] == 1
    assert "Error: the database has tables of the pack 'distance'" in refused[1]
    assert "Traceback" not in refused[1]
    assert (dropped[0], migrated[0]) == (0, 0), (dropped, migrated)
