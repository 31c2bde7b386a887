"""Dead letters are listed on the command line, and an operator's decision is recorded once and audited."""

import json
import os
from uuid import UUID

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import text

from tests.factories import make_tenant, queue_length, running_turn, step
from tests.models.ledger.stopping import broken_turn, statuses, undecided_turn, view
from tests.turn_events import recorded_events
from tests.workers.calling_back import final_turn, of_turn, send_due
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import audit, conversations
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings
from turnloom.tools.call_identity import idempotency_key
from turnloom.workers.cli import main

pytestmark = pytest.mark.usefixtures("database")


def run(*arguments: object) -> Result:
    """Run `turnloom redrive ARGUMENTS`."""
    return CliRunner().invoke(main, ["redrive", *map(str, arguments)])


def listed(*arguments: str) -> list[tuple[str, str | None, str]]:
    rows = json.loads(run("list", *arguments, "--json").stdout)
    return [(row["turn_id"], row["step"], row["code"]) for row in rows]


def test_unknown_outcomes_are_listed() -> None:
    """The list has steps of unknown outcome, then turns that an internal error ended, newest first, by tenant."""
    undecided, older, broken = undecided_turn(), broken_turn("c2"), broken_turn("c4")
    running_turn(step("a"), conversation_id="c3")
    make_tenant("other")

    found = listed()

    last = [(str(turn), None, "internal_error") for turn in (broken, older)]
    assert found == [(str(undecided), "w", "NOT_FOUND"), *last]
    assert (listed("--kind", "turn"), listed("--kind", "step")) == (last, found[:1])
    assert (listed("--tenant", "acme"), listed("--tenant", "other")) == (found, [])
    assert listed("--limit", "1") == found[:1]


def test_a_step_is_shown_as_its_backend_was_called() -> None:
    """References are resolved, and the idempotency key is shown. After an erasure neither is there."""
    turn_id, tenant_id = undecided_turn(), make_tenant()
    shown = json.loads(run("show", turn_id, "w", "--json").stdout)
    plain = dict(line.split("\t") for line in run("show", turn_id, "w").stdout.splitlines())
    with transaction() as db:
        conversations.erase(db, tenant_id, "c1")

    erased = json.loads(run("show", turn_id, "w", "--json").stdout)

    assert (shown["status"], shown["tool"], shown["call"]["args"]) == ("unknown", "sim.write", {"value": 5})
    assert shown["call"]["idempotency_key"] == idempotency_key(turn_id, "w", {"value": 5})
    assert json.loads(plain["call"]) == shown["call"]
    assert erased["call"] is None


@pytest.mark.parametrize(
    ("options", "status", "result"),
    [
        (("--as", "succeeded", "--result", '{"value": 7}', "--note", "it is there"), "succeeded", {"value": 7}),
        (("--as", "succeeded"), "succeeded", None),
        (("--as", "failed", "--note", "it is not there"), "failed", None),
    ],
)
def test_a_decision_is_recorded_and_audited(options: tuple[str, ...], status: str, result: object) -> None:
    """The step gets the decided status and leaves the list. The turn and its events stay as they were."""
    turn_id, tenant_id = undecided_turn(), make_tenant()
    before, told = view(turn_id), recorded_events(turn_id)

    decided = run("decide", turn_id, "w", *options)

    assert decided.exit_code == 0, decided.output
    assert (statuses(turn_id)["w"], listed()) == (status, [])
    shown = json.loads(run("show", turn_id, "w", "--json").stdout)
    assert (shown["result"], bool(shown["error"])) == (result, status == "failed")
    with transaction() as db:
        record = audit.page(db, tenant_id, "c1", 0, 10)[-1]
        assert audit.verify(db, tenant_id, "c1") == []
    assert recorded_events(turn_id) == told
    assert (record.kind, (record.content or {})["status"]) == ("step.decided", status)
    assert (view(turn_id).status, view(turn_id).finished_at) == ("failed", before.finished_at)


@pytest.mark.parametrize(
    ("options", "known", "by"),
    [((), True, "ada"), (("--by", "on call"), True, "on call"), ((), False, "uid 4000000")],
)
def test_the_audit_log_says_who_decided(
    options: tuple[str, ...], known: bool, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record names the user who ran the command or the name that was given; without a known user, the user id."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    if known:
        monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    turn_id, tenant_id = undecided_turn(), make_tenant()

    run("decide", turn_id, "w", "--as", "failed", *options)

    with transaction() as db:
        record = audit.page(db, tenant_id, "c1", 0, 10)[-1]
    assert (record.content or {})["by"] == by


def test_readers_of_an_unfinished_turn_get_the_decision() -> None:
    """Readers get another `step.finished` with the decided status."""
    turn_id = undecided_turn(is_final=False)

    run("decide", turn_id, "w", "--as", "succeeded")

    last = recorded_events(turn_id)[-1]
    assert (last.type, last.data["step"], last.data["status"]) == ("step.finished", "w", "succeeded")


def test_only_an_unknown_outcome_is_decided() -> None:
    """A second decision, a step with a known outcome and an unknown step give exit code 1, and nothing changes."""
    turn_id = undecided_turn()
    run("decide", turn_id, "w", "--as", "failed")

    refused = [run("decide", turn_id, name, "--as", "succeeded") for name in ("w", "a", "nothing")]
    missing = run("show", turn_id, "nothing")

    assert [each.exit_code for each in [*refused, missing]] == [1, 1, 1, 1]
    assert statuses(turn_id) == {"a": "succeeded", "w": "failed"}


def test_a_result_is_one_of_the_steps_tool() -> None:
    """What its tool would never have returned gives exit code 1 and says what is wrong. Nothing is recorded."""
    turn_id = undecided_turn()
    with transaction() as db:
        db.execute(text("UPDATE steps SET tool = 'pms.generate_booking_link' WHERE id = 'w'"))

    refused = run("decide", turn_id, "w", "--as", "succeeded", "--result", '{"link": "https://hotel.example"}')

    assert (refused.exit_code, statuses(turn_id)["w"]) == (1, "unknown")
    assert "the result is none of pms.generate_booking_link" in refused.output
    assert "url: Field required" in refused.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "no-id", "w"),
        ("decide", UUID(int=1), "w"),
        ("decide", UUID(int=1), "w", "--as", "unknown"),
        ("decide", UUID(int=1), "w", "--as", "succeeded", "--result", "{"),
        ("decide", UUID(int=1), "w", "--as", "succeeded", "--result", "[1]"),
        ("decide", UUID(int=1), "w", "--as", "failed", "--result", "{}"),
        ("list", "--limit", "0"),
        ("list", "--kind", "steps"),
    ],
)
def test_wrong_arguments_are_exit_code_2(arguments: tuple[object, ...]) -> None:
    """Wrong arguments are refused before any query."""
    refused = run(*arguments)

    assert refused.exit_code == 2


def test_a_callback_that_was_given_up_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is listed until then. It has another day, and the audit log says who wanted it."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))
    settings.cache_clear()
    turn_id, tenant_id = final_turn("http://127.0.0.1/"), make_tenant()  # an address that is not allowed
    send_due(turn_id)
    before = json.loads(run("list", "--json").stdout)

    sent = run("callback", turn_id, "--by", "ada")

    with transaction() as db:
        record = audit.page(db, tenant_id, "c1", 0, 10)[-1]
    again = of_turn(turn_id)
    assert [(row["kind"], row["code"]) for row in before] == [("callback", "url_not_allowed")]
    assert (sent.exit_code, listed(), queue_length("deliver")) == (0, [], 1)
    assert (again.status, again.failures, again.attempt) == ("pending", 0, 1)
    assert (record.kind, record.content) == ("callback.redriven", {"by": "ada"})
    assert [run("callback", each).exit_code for each in (turn_id, UUID(int=1))] == [1, 1]
