"""What is too old to be kept is removed on the command line."""

import json
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests.factories import claim_turn, heard, make_tenant, open_turn, record_plan, step, work
from tests.models.ledger.channel_turns import CHANNEL, item, receive
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import audit, channel_items, conversations
from turnloom.workers.cli import main

pytestmark = pytest.mark.usefixtures("database")

KEPT = {"alembic_version", "tenants", "conversations", "audit", "audit_heads", "usage_days"}
"""Tables that still know a conversation whose turns were removed, or never did."""


def prune(*options: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["prune", "--older-than", "90d", "--json", *options])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def talk(tenant_id: UUID, conversation_id: str, turns: int = 2) -> None:
    for number in range(turns):
        work(open_turn(tenant_id, f"message {number}", conversation_id=conversation_id).turn_id)


def let_pass(days: int, *conversations: str) -> None:
    """Make conversations, or everything that channels brought, so many days older."""
    with transaction() as db:
        if conversations:
            db.execute(
                text(f"UPDATE conversations SET updated_at = updated_at - interval '{days} days' WHERE id = ANY(:ids)"),
                {"ids": list(conversations)},
            )
            return
        for table in ("channel_items", "webhooks"):
            db.execute(text(f"UPDATE {table} SET created_at = created_at - interval '{days} days'"))


def filled() -> set[str]:
    """Return the tables that have a row."""
    with transaction() as db:
        tables = db.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).all()
        return {name for name in tables if db.scalar(text(f"SELECT EXISTS (SELECT FROM {name})"))}


def test_idle_conversations_lose_their_turns() -> None:
    """Every row of them goes but the conversation, its audit log, which still verifies, and the sums of usage."""
    tenant_id = make_tenant()
    opened = receive(1)
    turn = claim_turn(opened.turn_id)
    assert turn is not None
    record_plan(turn, step("a"))
    with transaction() as db:
        db.execute(text("UPDATE turns SET status = 'succeeded', finished_at = now()"))
        db.execute(text("UPDATE conversations SET active_turn_id = NULL"))
    let_pass(91, f"{CHANNEL}:u1")

    counted = prune("--dry-run")
    done = prune()

    assert (counted["conversations"], counted["turns"]) == (done["conversations"], done["turns"]) == (1, 1)
    assert filled() - KEPT == {"hotels", "hotel_room_types", "hotel_seasons", "hotel_rates"} & filled()
    with transaction() as db:
        assert audit.verify(db, tenant_id, f"{CHANNEL}:u1") == []


def test_younger_conversations_stay() -> None:
    """So does one with a turn in work, and one of another tenant if only one is asked for."""
    tenant_id = make_tenant()
    for conversation_id in ("young", "old", "busy"):
        talk(tenant_id, conversation_id)
    open_turn(tenant_id, conversation_id="busy")
    talk(make_tenant("other"), "elsewhere")
    let_pass(89, "young")
    let_pass(91, "old", "busy", "elsewhere")

    assert prune("--tenant", "acme")["conversations"] == 1
    assert prune()["conversations"] == 1
    assert prune()["turns"] == 0
    with transaction() as db:
        left = db.scalars(text("SELECT DISTINCT conversation_id FROM turns ORDER BY 1")).all()
    assert left == ["busy", "young"]


def test_a_conversation_goes_on_after_pruning() -> None:
    """Its next message opens a turn with the next number, and remembers nothing."""
    tenant_id = make_tenant()
    talk(tenant_id, "c1")
    let_pass(91, "c1")
    prune()

    again = open_turn(tenant_id, "hello again", conversation_id="c1")
    turn = claim_turn(again.turn_id)

    assert (again.outcome, again.seq) == ("opened", 3)
    assert turn is not None
    assert heard(turn) == []


def test_what_channels_brought_for_nobody_is_removed() -> None:
    """A receipt or a kept item that is old enough goes with its body. A message's body stays with its turn."""
    tenant_id = make_tenant()
    receive(1)
    with statement() as db:
        for number in range(3):
            channel_items.keep(db, tenant_id, item("kept", f"digest {number}"))
    let_pass(91)

    done = prune()

    assert (done["channel_items"], done["turns"]) == (3, 0)
    with transaction() as db:
        assert db.scalar(text("SELECT count(*) FROM channel_items")) == 1
        assert db.scalar(text("SELECT count(*) FROM webhooks")) == 1


def test_an_age_is_needed() -> None:
    """Nothing is removed by a slip."""
    assert CliRunner().invoke(main, ["prune"]).exit_code == 2


def test_turns_of_a_conversation_that_is_not_erased_stay() -> None:
    """The function has the owner's rights, so it checks that itself."""
    tenant_id = make_tenant()
    talk(tenant_id, "c1")

    with pytest.raises(DBAPIError, match="not erased"), transaction() as db:
        conversations.prune(db, tenant_id, "c1")

    assert "turns" in filled()
