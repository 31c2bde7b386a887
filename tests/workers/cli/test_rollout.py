"""Rollouts are managed, and the quality of turns is shown, on the command line."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import quality
from turnloom.workers.cli import main

pytestmark = pytest.mark.usefixtures("database")

BRIEF = "---\nname: styles/brief\nversion: 1\ninputs: []\n---\nBe very brief."
OF_ACME = ("--tenant", "acme")


def run(*arguments: str, text: str = "") -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments, input=text)


def told(*arguments: str, text: str = "") -> Any:
    """Run a command that prints JSON."""
    done = run(*arguments, "--json", text=text)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def start(name: str = "styles/brief", *arguments: str) -> Any:
    return told("rollout", "start", name, "-", *OF_ACME, "--share", "0.5", "--by", "ada", *arguments, text=BRIEF)


def test_a_rollout_from_its_start_to_its_promotion() -> None:
    """It is listed while it runs and afterwards, with who started and ended it. Its text becomes the tenant's own."""
    make_tenant()
    rollout = start()["id"]
    running = run("rollout", "list", *OF_ACME).stdout.splitlines()
    ended = told("rollout", "promote", rollout, *OF_ACME, "--by", "bo")

    assert running[1].split("\t")[:5] == [rollout, "styles/brief", "0.5", "running", "ada"]
    assert (ended["outcome"], ended["ended_by"]) == ("promoted", "bo")
    assert told("prompts", "show", "styles/brief", *OF_ACME)["text"] == BRIEF
    assert run("rollout", "stop", rollout, *OF_ACME).exit_code == 1


def test_both_texts_are_shown_side_by_side() -> None:
    """A line each, with what is known of the turns so far."""
    acme = make_tenant()
    rollout = start()["id"]
    for number in range(12):
        turn = claim_turn(open_turn(acme, conversation_id=f"c{number}").turn_id)
        assert turn is not None
        assert finish_turn(turn)

    shown = run("rollout", "show", rollout, *OF_ACME).stdout.splitlines()
    found = told("rollout", "show", rollout, *OF_ACME)

    assert shown[0] == "styles/brief for 50%: running"
    assert [line.split("\t")[0] for line in shown[1:]] == ["text", "new", "old"]
    assert found["new"]["turns"] + found["old"]["turns"] == 12


@pytest.mark.parametrize(
    ("arguments", "text", "code", "why"),
    [
        (("styles/brief", "-", "--share", "0"), BRIEF, 1, "share"),
        (("styles/brief", "-", "--share", "0.5", "--llm", "gpt-4o"), BRIEF, 1, "`text` or `llm`"),
        (("styles/brief", "--share", "0.5"), "", 1, "`text` or `llm`"),
        (("styles/unheard", "-", "--share", "0.5"), BRIEF, 1, "styles/unheard"),
        (("styles/brief", "-", "--share", "0.5"), "no prompt", 1, "styles/brief"),
        (("agents/hotel", "--share", "0.5", "--llm", "unheard-of"), "", 1, "TURNLOOM_LLM_MODELS"),
        (("styles/brief", "-"), BRIEF, 2, "--share"),
    ],
)
def test_what_cannot_be_rolled_out_is_refused(arguments: tuple[str, ...], text: str, code: int, why: str) -> None:
    """The message says what is wrong."""
    make_tenant()

    done = run("rollout", "start", *arguments, *OF_ACME, text=text)

    assert (done.exit_code, why in done.output) == (code, True), done.output


def test_metrics_and_trend_are_shown() -> None:
    """Rates are percentages; what has no value is a dash. JSON has all fields."""
    acme = make_tenant()
    turn = claim_turn(open_turn(acme).turn_id)
    assert turn is not None
    assert finish_turn(turn)
    with transaction() as db:
        quality.keep_day(db, acme, datetime.now(UTC).date())

    shown = [line.split("\t") for line in run("eval", "metrics", *OF_ACME).stdout.splitlines()]
    found = told("eval", "metrics", *OF_ACME, "--by", "day", "--since", "1h")
    kept = told("eval", "trend", *OF_ACME)

    assert shown[0][:4] == ["agent", "turns", "error_rate", "plan_validity"]
    assert shown[1][:4] == ["generic", "1", "0.0%", "-"]
    today = datetime.now(UTC).date().isoformat()
    assert [(line["day"], line["agent"], line["turns"]) for line in found["items"]] == [(today, "generic", 1)]
    assert [(line["day"], line["agent"], line["turns"]) for line in kept["items"]] == [(today, "generic", 1)]
    assert run("eval", "trend", *OF_ACME).stdout.splitlines()[1].split("\t")[:3] == [today, "generic", "1"]
    assert told("eval", "nights", *OF_ACME) == []
    assert run("eval", "metrics", "--tenant", "nobody").exit_code == 1
