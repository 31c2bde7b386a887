"""`turnloom audit verify` reports whether anybody has changed the log."""

import json
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from click.testing import CliRunner, Result

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main


def verify(*options: str) -> Result:
    return CliRunner().invoke(main, ["audit", "verify", *options])


@pytest.fixture
def tenants(database: str) -> list[UUID]:
    """Two tenants with a conversation `c1` each, the second with `c2` too."""
    made = [make_tenant("ours"), make_tenant("theirs")]
    for tenant, conversation in ((made[0], "c1"), (made[1], "c1"), (made[1], "c2")):
        turn = claim_turn(open_turn(tenant, conversation_id=conversation).turn_id)
        assert turn is not None
        finish_turn(turn)
    return made


def tamper(statement: str) -> None:
    url = settings().owner_database_url
    assert url is not None
    with psycopg.connect(url) as db:
        db.execute(statement)  # type: ignore[call-overload]


def test_an_untouched_log_verifies(tenants: list[UUID]) -> None:
    """Verification covers every tenant, one tenant, or one conversation."""
    everything, whose, one = verify(), verify("--tenant", "theirs"), verify("--conversation", "c2", "--json")

    assert (everything.exit_code, "3 conversations" in everything.stdout) == (0, True)
    assert (whose.exit_code, "2 conversations" in whose.stdout) == (0, True)
    assert json.loads(one.stdout) == {"conversations": 1, "faults": []}


def test_a_changed_record_is_reported(tenants: list[UUID]) -> None:
    """The output has the tenant, the conversation, the record's number and the fault. The exit code is 1."""
    tamper(f"UPDATE audit SET content = '{{}}' WHERE seq = 1 AND tenant_id = '{tenants[1]}' AND conversation_id = 'c1'")

    shown, told = verify(), verify("--conversation", "c1", "--json")

    assert (shown.exit_code, told.exit_code, verify("--tenant", "ours").exit_code) == (1, 1, 0)
    assert shown.stdout.splitlines()[1:] == [f"{tenants[1]}\tc1\t1\tthe content was changed"]
    assert json.loads(told.stdout) == {
        "conversations": 2,
        "faults": [
            {"tenant_id": str(tenants[1]), "conversation_id": "c1", "seq": 1, "message": "the content was changed"}
        ],
    }


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM audit WHERE conversation_id = 'c2'", "records are missing at the end"),
        ("DELETE FROM conversations WHERE id = 'c2'", "the conversation itself is missing"),
    ],
    ids=["records", "conversation"],
)
def test_missing_records_are_reported(tenants: list[UUID], statement: str, found: str) -> None:
    """A conversation without records and records without a conversation are faults."""
    tamper(statement)

    told = json.loads(verify("--json").stdout)

    assert [(fault["conversation_id"], fault["message"]) for fault in told["faults"]] == [("c2", found)]


@pytest.fixture
def sealed(tenants: list[UUID], monkeypatch: pytest.MonkeyPatch) -> str:
    """A key and a signed head for each tenant. Returns the anchor to keep elsewhere."""
    monkeypatch.setenv("TURNLOOM_AUDIT_KEY", "a key that the database has not got")
    settings.cache_clear()
    done = CliRunner().invoke(main, ["audit", "anchor"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_an_anchor_is_a_line_for_each_tenant(sealed: str, tenants: list[UUID]) -> None:
    """An anchor covers all records. A repeated anchor is the same if there are no new records."""
    heads = [json.loads(line) for line in sealed.splitlines()]

    assert {head["tenant_id"] for head in heads} == set(map(str, tenants))
    assert [head["number"] for head in heads] == [1, 1]
    assert CliRunner().invoke(main, ["audit", "anchor"]).stdout == sealed
    assert CliRunner().invoke(main, ["audit", "anchor", "--tenant", "ours"]).stdout.splitlines() == [
        line for line in sealed.splitlines() if str(tenants[0]) in line
    ]


def test_a_missing_conversation_is_reported(sealed: str, tenants: list[UUID]) -> None:
    """All its records are missing. A check of everything finds this, and so does a check of the conversation."""
    tamper("DELETE FROM audit WHERE conversation_id = 'c2'; DELETE FROM conversations WHERE id = 'c2'")

    everything, one = verify(), verify("--conversation", "c2", "--json")

    assert (everything.exit_code, "the record is missing" in everything.stdout) == (1, True)
    assert [fault["seq"] for fault in json.loads(one.stdout)["faults"]] == [2]
    assert verify("--tenant", "ours").exit_code == 0


def test_anchors_come_from_files_and_logs(sealed: str, tenants: list[UUID], tmp_path: Path) -> None:
    """Lines that are not heads are skipped, and a malformed head is an error."""
    log, broken = tmp_path / "worker.log", tmp_path / "broken"
    log.write_text('no JSON\n{"event": "x"}\n' + sealed.replace("{", '{"event": "audit.sealed", ', 1))
    broken.write_text('{"signature": "x"}\n')
    tamper("DELETE FROM audit_heads")

    assert verify().exit_code == 0
    assert (verify("--anchor", str(log)).exit_code, verify("--anchor", str(broken)).exit_code) == (1, 1)
    assert "the head of the anchor is missing" in verify("--anchor", str(log)).stdout
    assert "not a head" in verify("--anchor", str(broken)).stderr


def test_without_the_key_it_says_so(sealed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records are verified without the signatures, and nothing can be signed."""
    monkeypatch.delenv("TURNLOOM_AUDIT_KEY")
    settings.cache_clear()

    done, anchored = verify("--json"), CliRunner().invoke(main, ["audit", "anchor"])

    assert (done.exit_code, "TURNLOOM_AUDIT_KEY" in done.stderr) == (0, True)
    assert json.loads(done.stdout) == {"conversations": 3, "faults": []}
    assert (anchored.exit_code, "TURNLOOM_AUDIT_KEY" in anchored.stderr) == (1, True)


def test_all_pages_are_verified(tenants: list[UUID], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page of conversations and of records is verified once."""
    monkeypatch.setattr("turnloom.workers.cli.audit._AT_ONCE", 1)
    monkeypatch.setattr("turnloom.models.ledger.audit._AT_ONCE", 1)
    tamper("UPDATE audit SET kind = 'x' WHERE seq = 2")

    told = json.loads(verify("--json").stdout)

    assert told["conversations"] == 3
    assert [(fault["conversation_id"], fault["seq"]) for fault in told["faults"]] == [("c1", 2), ("c1", 2), ("c2", 2)]


def test_there_must_be_something_to_verify(database: str) -> None:
    """An unknown name is an error, not a success."""
    assert verify("--conversation", "nobody").exit_code == 1
    assert verify("--tenant", "nobody").exit_code == 1
    assert verify().exit_code == 0
