"""Workers hold the golden conversations once a night, over the API, and keep which of them passed."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from click.testing import CliRunner

from tests.journeys.stacks import environment_of
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import golden_nights, tenants
from turnloom.models.ledger.keys import DEVELOPMENT_TENANT
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main
from turnloom.workers.embedded.stack import Stack
from turnloom.workers.upkeep.golden_nights import hold_golden

GOLDEN = """
agent: generic
conversations:
  - name: good
    about: It passes.
    turns: [{say: "Hello!", expect: {tools: []}}]
  - name: wrong
    about: It asks for a tool that nobody would call.
    turns: [{say: "Hello!", expect: {tools: [sim.burn]}}]
"""
NOON = datetime.now(UTC).replace(hour=12)


@pytest.fixture
def nightly(stack: Stack, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """The settings of a worker of the stack that has the key, and two golden conversations."""
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "mine.yaml").write_text(GOLDEN)
    own = {
        "TURNLOOM_EVAL_KEY": stack.dev_key,
        "TURNLOOM_API_URL": stack.url,
        "TURNLOOM_PROMPTS_DIR": str(tmp_path),
    }
    with environment_of(stack, **own) as patch:
        yield patch


def nights() -> list[dict[str, object]]:
    shown = CliRunner().invoke(main, ["eval", "nights", "--tenant", DEVELOPMENT_TENANT, "--json"])
    assert shown.exit_code == 0, shown.output
    found: list[dict[str, object]] = json.loads(shown.stdout)
    return found


def test_without_a_key_that_works_none_is_held(nightly: pytest.MonkeyPatch) -> None:
    """A deployment without the setting holds none, nor one whose key has ended."""
    nightly.setenv("TURNLOOM_EVAL_KEY", "unknown")
    settings.cache_clear()
    hold_golden()
    nightly.delenv("TURNLOOM_EVAL_KEY")
    settings.cache_clear()
    hold_golden()
    assert nights() == []


def test_nights_are_kept(nightly: pytest.MonkeyPatch) -> None:
    """One is held at a time, each once a night, from two o'clock on. The share that passed has its interval."""
    with time_machine.travel(NOON.replace(hour=1), tick=True):
        hold_golden()
    assert nights() == []
    with time_machine.travel(NOON, tick=True):
        for held in (1, 2, 2):
            hold_golden()
            assert nights()[0]["held"] == held

    (night,) = nights()
    assert (night["day"], night["passed"], night["failed"]) == (NOON.date().isoformat(), 1, ["generic/wrong"])
    assert night["pass_1_interval"] == [pytest.approx(0.0945, abs=1e-4), pytest.approx(0.9055, abs=1e-4)]


def test_a_lost_conversation_is_held_again(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is held nobody else holds it; when its worker is lost, somebody does after a time."""
    with transaction() as db:
        acme = tenants.ensure(db, "acme")
    today = NOON.date()

    def claim() -> str | None:
        with transaction() as db:
            return golden_nights.claim(db, acme, today, ["a", "b"])

    first = [claim(), claim(), claim()]
    monkeypatch.setattr(golden_nights, "_LOST_AFTER", timedelta(0))
    again = claim()
    with transaction() as db:
        golden_nights.record(db, acme, today, "a", None)
    after = claim()

    assert (first, again, after) == (["a", "b", None], "a", "b")
    with transaction() as db:
        assert [(row.name, row.passed) for row in golden_nights.held(db, acme, today)] == [("a", True)]
