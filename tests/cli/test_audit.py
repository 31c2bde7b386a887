"""`turnloom audit verify` says whether anybody has touched the log."""

import json
from uuid import UUID

import psycopg
import pytest
from click.testing import CliRunner, Result

from models.settings import settings
from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from workers.cli import main


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
    """Of everybody, of one tenant, of one conversation."""
    everything, whose, one = verify(), verify("--tenant", "theirs"), verify("--conversation", "c2", "--json")

    assert (everything.exit_code, "3 conversations" in everything.stdout) == (0, True)
    assert (whose.exit_code, "2 conversations" in whose.stdout) == (0, True)
    assert json.loads(one.stdout) == {"conversations": 1, "faults": []}


def test_a_touched_record_is_told(tenants: list[UUID]) -> None:
    """Its tenant, its conversation, its number and what is wrong; the exit code is 1."""
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
def test_what_is_gone_is_missed(tenants: list[UUID], statement: str, found: str) -> None:
    """Neither a conversation without records nor records without a conversation pass."""
    tamper(statement)

    told = json.loads(verify("--json").stdout)

    assert [(fault["conversation_id"], fault["message"]) for fault in told["faults"]] == [("c2", found)]


def test_there_must_be_something_to_verify(database: str) -> None:
    """A name that is not there is an error, not a success."""
    assert verify("--conversation", "nobody").exit_code == 1
    assert verify("--tenant", "nobody").exit_code == 1
    assert verify().exit_code == 0
