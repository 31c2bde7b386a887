"""What keeps the golden conversations from being held is told once in a night, and none is asked for in vain."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from structlog.testing import capture_logs

from turnloom.models.connections.database import transaction
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import golden_nights, keys, tenants
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.app import make_app
from turnloom.workers.cli import part_checks
from turnloom.workers.evals.conversations import Golden
from turnloom.workers.upkeep.golden_nights import hold_golden

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
GOLDEN = """
agent: generic
conversations:
  - {name: one, about: It is held elsewhere., turns: [{say: Hello, expect: {}}]}
"""
Change = Callable[..., None]


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Change]:
    """Return a function that changes settings. There is one golden conversation, of the agent `generic`."""
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "generic.yaml").write_text(GOLDEN)

    def change(**variables: str) -> None:
        for name, value in {"TURNLOOM_PROMPTS_DIR": str(tmp_path), **variables}.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    yield change
    monkeypatch.undo()
    settings.cache_clear()


@pytest.fixture
def key(database: str, redis_url: str) -> str:
    with transaction() as db:
        _, plain = keys.create(db, tenants.ensure(db, "evaluation"), "night", ["turns:read", "turns:write"])
    return plain


def reasons(*moments: datetime) -> list[str]:
    """Run the task at these moments; return the reasons that it gives for holding none."""
    with capture_logs() as lines:
        for each in moments:
            with time_machine.travel(each, tick=True):
                hold_golden()
    return [line["reason"] for line in lines if line["event"] == "golden.not_held"]


def minutes(count: int) -> list[datetime]:
    return [NOON + timedelta(minutes=each) for each in range(count)]


def test_an_agent_without_golden_conversations_is_told_once_a_night(key: str, change: Change) -> None:
    """The task does not fail, and the doctor says the same. The next night it is told again."""
    change(TURNLOOM_EVAL_KEY=key, TURNLOOM_EVAL_AGENTS='["nobody"]')

    told = reasons(*minutes(3), NOON + timedelta(days=1))

    assert len(told) == 2
    assert told[0].startswith("TURNLOOM_EVAL_AGENTS names agents that have no golden conversations")
    assert told[0].endswith(": nobody")
    with pytest.raises(Unavailable, match="nobody"):
        part_checks.golden_conversations()


def test_the_other_agents_are_held_all_the_same(key: str, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """One misspelt name does not keep the rest from being held."""
    change(TURNLOOM_EVAL_KEY=key, TURNLOOM_EVAL_AGENTS='["nobody", "generic"]')
    held: list[str] = []

    def hold(golden: Golden, _: str) -> None:
        held.append(golden.name)

    monkeypatch.setattr("turnloom.workers.upkeep.golden_nights._held", hold)

    told = reasons(*minutes(2))

    assert (len(told), held) == (1, ["one"])
    with transaction() as db:
        tenant_id = tenants.find(db, "evaluation").id
        assert [row.name for row in golden_nights.held(db, tenant_id, NOON.date())] == ["generic/one"]


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"TURNLOOM_EVAL_KEY": "unknown"}, "TURNLOOM_EVAL_KEY is no key"),
        ({"TURNLOOM_PROMPTS_DIR": "/nowhere"}, "/nowhere/golden has no golden conversations"),
    ],
)
def test_what_is_wrong_is_told_once(key: str, change: Change, variables: dict[str, Any], told: str) -> None:
    """Whatever it is, and however often the task runs."""
    change(**{"TURNLOOM_EVAL_KEY": key} | variables)

    found = reasons(*minutes(3))

    assert len(found) == 1
    assert found[0].startswith(told)


def test_without_a_key_beat_asks_for_none(change: Change, redis_url: str) -> None:
    """A message a minute for nothing would be a message too many. The doctor says that none is held."""
    change()
    without = make_app("disabled", set_as_current=False).conf.beat_schedule
    said = part_checks.golden_conversations()
    change(TURNLOOM_EVAL_KEY="any")
    with_key = make_app("disabled", set_as_current=False).conf.beat_schedule

    assert with_key.keys() - without.keys() == {"hold_golden"}
    assert "TURNLOOM_EVAL_KEY is not set" in said
