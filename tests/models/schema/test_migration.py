"""Migrations make the database that the tables describe, and can be undone."""

import psycopg
import pytest
from alembic.script import ScriptDirectory

from tests.factories import make_tenant, open_turn
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import audit, tenant_audit
from turnloom.models.ledger.audit import Scope
from turnloom.models.runtime.settings import ROOT, settings
from turnloom.models.schema.functions import installed
from turnloom.models.schema.migration import differences, downgrade, upgrade
from turnloom.models.schema.revisions import known_revisions, pending
from turnloom.models.schema.roles import role_rights
from turnloom.tools.pack_index import shipped_packs


@pytest.fixture
def owner_url(database: str) -> str:
    url = settings().owner_database_url
    assert url is not None
    for pack in shipped_packs():
        pack.part("tables")  # declares the tables
    return url


def test_upgrade_from_empty_equals_the_tables(owner_url: str) -> None:
    """No column, index or constraint is in only one of the two."""
    assert differences(owner_url) == []


def test_revisions_are_known_by_their_files() -> None:
    """The file names say what Alembic reads in the files."""
    script = ScriptDirectory(str(ROOT / "migrations"))

    assert known_revisions() == [each.revision for each in script.walk_revisions()][::-1]


def test_down_and_up_again(owner_url: str, database: str) -> None:
    """The newest revision can be undone and applied again. An empty database has none of our tables."""
    downgrade(owner_url, "base")
    with psycopg.connect(owner_url) as db:
        left = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        left_functions = installed(db)
    was_pending = pending(owner_url)
    upgrade(owner_url)

    assert (left, left_functions) == ([("alembic_version",)], [])
    assert was_pending
    assert pending(owner_url) is None
    assert differences(owner_url) == []


def test_upgrading_again_changes_nothing(owner_url: str) -> None:
    """`turnloom migrate` may run at every start."""
    upgrade(owner_url)

    assert differences(owner_url) == []


def test_the_application_owns_nothing(database: str) -> None:
    """Its role is neither owner nor superuser, so that row-level security can be switched on."""
    assert role_rights(database) == (False, False)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE audit SET kind = 'x'",
        "UPDATE audit SET content = NULL",
        "DELETE FROM audit",
        "UPDATE audit_heads SET number = 7",
        "DELETE FROM audit_heads",
        "TRUNCATE audit_heads",
        "DELETE FROM conversations",
        "DELETE FROM turns",
        "DELETE FROM tenants",
        "UPDATE overrides SET text = 'x'",
        "DELETE FROM overrides",
        "TRUNCATE audit",
        "DROP TABLE turns",
        "CREATE TABLE mine (x int)",
        "UPDATE alembic_version SET version_num = 'x'",
    ],
)
def test_the_application_cannot_change_the_audit_log_or_the_schema(database: str, sql: str) -> None:
    """The database's own rules make the audit log and the overrides append-only."""
    with psycopg.connect(database) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute(sql)


def test_earlier_erasures_are_recorded_as_such(owner_url: str) -> None:
    """The chain goes on with one record of it. Content that somebody else blanks is still found."""
    tenant_id = make_tenant()
    for conversation_id in ("erased", "blanked", "whole"):
        open_turn(tenant_id, conversation_id=conversation_id)
    with psycopg.connect(owner_url) as db:
        db.execute("UPDATE audit SET content = NULL WHERE conversation_id IN ('erased', 'blanked')")
        db.execute("UPDATE conversations SET erased_at = now() WHERE id = 'erased'")

    for _ in range(2):
        downgrade(owner_url, "0017")
        upgrade(owner_url)

    with transaction() as db:
        chains = audit.chains(db, Scope(), None, 10)
        found = {fault.conversation_id: fault.seq for fault in audit.verify_chains(db, chains)}
        records = audit.page(db, tenant_id, "erased", 0, 10)
    assert found == {"blanked": 1}
    assert [(record.kind, record.content) for record in records[1:]] == [("conversation.erased", {"through": 1})]


def test_a_tenants_own_audit_chain_goes_on_after_a_return_to_an_older_release(owner_url: str) -> None:
    """Going back removes no record, and going forward again finds the end of the chain."""
    tenant_id = make_tenant()
    for _ in range(2):
        downgrade(owner_url, "0034")
        upgrade(owner_url)
        with transaction() as db:
            tenant_audit.append(db, tenant_id, "limits.set", {})

    with transaction() as db:
        assert audit.verify(db, tenant_id, "") == []
        assert [row.seq for row in audit.page(db, tenant_id, "", 0, 10)] == [1, 2, 3]
