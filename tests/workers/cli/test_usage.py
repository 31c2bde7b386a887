"""Usage and budgets are shown and set on the command line."""

import json
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from tests.factories import make_tenant, open_turn
from turnloom.models.connections.database import statement
from turnloom.models.contracts.usage import LlmCall
from turnloom.models.ledger import usage
from turnloom.workers.cli import main

pytestmark = pytest.mark.usefixtures("database")


def run(*arguments: str) -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments)


def spend(tenant: UUID, *calls: LlmCall) -> None:
    turn_id = open_turn(tenant).turn_id
    assert turn_id is not None
    with statement() as db:
        usage.record(db, turn_id, calls)


def test_usage_shows_lines_and_their_total() -> None:
    """Each language model has a line, the one with most tokens first. Then comes the total. Unknown prices show."""
    spend(
        make_tenant(),
        LlmCall("plan", "gpt-4o", 100, 0, 10, 0.5, 1, "stop"),
        LlmCall("reply", "mystery", 500, 0, 10, None, 1, "stop"),
    )

    shown = run("usage", "--tenant", "acme", "--by", "model")
    told = json.loads(run("usage", "--tenant", "acme", "--by", "model", "--json").stdout)

    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert [(row[0], row[1], row[5], row[6]) for row in rows[1:]] == [
        ("mystery", "1", "0.0", "1"),
        ("gpt-4o", "1", "0.5", "0"),
        ("total", "2", "0.5", "1"),
    ]
    assert "TURNLOOM_LLM_PRICES" in shown.stderr
    assert (told["total"]["cost"], len(told["items"])) == (0.5, 2)


def test_a_budget_is_set_changed_and_removed() -> None:
    """Each limit is set alone. Limits that are not given keep their values."""
    make_tenant()

    run("tenant", "budget", "acme", "--day-cost", "5", "--turn-tokens", "9000")
    changed = run("tenant", "budget", "acme", "--day-cost", "none", "--day-tokens", "100000", "--json")
    shown = run("tenant", "budget", "acme")

    bounds = {bound: amount for bound, amount in json.loads(changed.stdout).items() if amount is not None}
    assert bounds == {"day_tokens": 100_000, "turn_tokens": 9_000}
    assert shown.stdout.splitlines() == ["bound\tamount", "day_tokens\t100000", "turn_tokens\t9000"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("tenant", "budget", "acme", "--day-cost", "-1"), 2),
        (("tenant", "budget", "acme", "--day-tokens", "1.5"), 2),
        (("tenant", "budget", "nobody"), 1),
        (("usage", "--tenant", "nobody"), 1),
        (("usage", "--tenant", "acme", "--from", "2026-02-01", "--to", "2026-01-01"), 2),
    ],
)
def test_wrong_usage_changes_nothing(arguments: tuple[str, ...], code: int) -> None:
    """Negative or malformed amounts, unknown tenants and days in the wrong order are errors, and the budget stays."""
    make_tenant()

    refused = run(*arguments)

    assert refused.exit_code == code
    assert run("tenant", "budget", "acme").stdout.splitlines() == ["bound\tamount"]
