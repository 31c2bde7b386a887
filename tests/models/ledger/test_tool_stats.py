"""The ledger computes statistics of tools."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from tests.factories import claim_turn, make_tenant, open_turn, record_plan, step
from turnloom.models.connections.database import snapshot, transaction
from turnloom.models.contracts.tool_stats import ToolStats
from turnloom.models.ledger import tool_stats
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.steps import StepRow
from turnloom.workers.cli import main

pytestmark = pytest.mark.usefixtures("database")

NOW = datetime.now(UTC)
NEEDS = {"status": "needs_input", "result": {"needs": {"city": True, "nights": [1, 2]}}}
TIMEOUT = {"status": "failed", "error": {"code": "TOOL_TIMEOUT", "message": "…"}}


def ended(tenant: UUID, *ends: dict[str, Any], ms: int = 100, tool: str = "travel.search_hotels") -> None:
    """Record a turn whose steps ended as given. Each step takes twice as long as the one before."""
    turn_id = open_turn(tenant, conversation_id=str(new_id())).turn_id
    turn = claim_turn(turn_id)
    assert turn is not None
    record_plan(turn, *(step(f"s{number}") for number in range(len(ends))))
    with transaction() as db:
        for number, end in enumerate(ends):
            took = timedelta(milliseconds=ms * 2**number)
            values = {"tool": tool, "started_at": NOW - took, "finished_at": NOW, **end}
            changed = StepRow.__table__.update().where(StepRow.turn_id == turn_id, StepRow.id == f"s{number}")
            db.execute(changed.values(**values))


def told(**how: Any) -> list[ToolStats]:
    with snapshot() as db:
        return tool_stats.of_tools(db, NOW - timedelta(hours=1), **how)


def test_calls_are_summed_up_by_tool() -> None:
    """The summary counts outcomes, times, missing fields and errors."""
    ended(make_tenant(), {"status": "succeeded"}, NEEDS, TIMEOUT, {"status": "succeeded", "cache": "memory"}, NEEDS)
    ended(make_tenant(), {"status": "unknown", "error": {"code": "UPSTREAM_5XX", "message": "…"}}, tool="pms.book")

    book, hotels = told()

    assert (book.tool, book.calls, book.unknown, book.success_rate) == ("pms.book", 1, 1, 0.0)
    assert book.errors == {"UPSTREAM_5XX": 1}
    assert hotels.model_dump() == {
        "tool": "travel.search_hotels",
        "calls": 5,
        "succeeded": 2,
        "needs_input": 2,
        "failed": 1,
        "unknown": 0,
        "cached": 1,
        "success_rate": 0.4,
        "mean_ms": 575.0,
        "p50_ms": 300.0,
        "p95_ms": pytest.approx(1420.0),
        "missing": {"city": 2, "nights": 2},
        "errors": {"TOOL_TIMEOUT": 1},
    }


def test_steps_without_a_call_do_not_count() -> None:
    """Steps that were skipped, cancelled or are under way do not count, nor do copies of another call."""
    ended(
        make_tenant(),
        *({"status": status} for status in ("skipped", "cancelled", "running", "pending")),
        {"status": "succeeded", "copy_of": "s1"},
    )

    assert told() == []


def test_a_tenant_a_tool_and_a_time_can_be_chosen() -> None:
    """By default all tenants and tools count. Turns received before the given time do not."""
    ended(make_tenant("ours"), {"status": "succeeded"})
    ended(make_tenant("theirs"), {"status": "succeeded"}, {"status": "succeeded"}, tool="sim.echo")

    assert [(each.tool, each.calls) for each in told()] == [("sim.echo", 2), ("travel.search_hotels", 1)]
    assert [each.tool for each in told(tenant_id=make_tenant("ours"))] == ["travel.search_hotels"]
    assert [each.tool for each in told(tool="sim.echo")] == ["sim.echo"]
    with snapshot() as db:
        assert tool_stats.of_tools(db, datetime.now(UTC) + timedelta(minutes=1)) == []


def test_old_turns_are_not_read() -> None:
    """Ids tell when a turn was received, so the primary key leads to the steps of the given time."""
    with transaction() as db:
        db.execute(text("SET LOCAL enable_seqscan = off"))
        query = tool_stats._counted(tool_stats._within(NOW, None, None))
        compiled = query.compile(db.get_bind(), compile_kwargs={"literal_binds": True})
        plan = "\n".join(db.scalars(text(f"EXPLAIN {compiled}")))

    assert "steps_pkey" in plan


def test_the_command_shows_the_statistics() -> None:
    """People get a table, programs the whole data."""
    ended(make_tenant(), {"status": "succeeded"}, NEEDS)

    shown = CliRunner().invoke(main, ["tools", "stats", "--since", "1h", "--tenant", "acme"])
    listed = CliRunner().invoke(main, ["tools", "stats", "travel.search_hotels", "--json"])
    none = CliRunner().invoke(main, ["tools", "stats", "sim.echo", "--json"])

    assert shown.stdout.splitlines()[1].split("\t") == [
        "travel.search_hotels",
        "2",
        "50.0%",
        "150.0",
        "150.0",
        "195.0",
        "0",
        "city 1, nights 1",
        "",
    ]
    assert json.loads(listed.stdout)[0]["missing"] == {"city": 1, "nights": 1}
    assert json.loads(none.stdout) == []


@pytest.mark.parametrize("since", ["", "24", "0h", "1w", "-1h", "h"])
def test_a_span_is_a_number_and_a_unit(since: str) -> None:
    """Anything else is wrong usage."""
    assert CliRunner().invoke(main, ["tools", "stats", "--since", since]).exit_code == 2
