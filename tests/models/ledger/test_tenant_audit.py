"""What is done to a tenant and belongs to no conversation is in a chain of the tenant's own."""

import json
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy.orm import Session

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.rollout import RolloutRequest
from turnloom.models.contracts.usage import Budget
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.ledger import (
    audit,
    audit_heads,
    callback_secrets,
    channel_accounts,
    integrations,
    keys,
    limits,
    overrides,
    rollouts,
    tenants,
    users,
)
from turnloom.models.ledger.audit import Scope
from turnloom.models.ledger.rollouts import RolloutEnd
from turnloom.models.runtime import secrets
from turnloom.models.runtime.operators import Operator, acting
from turnloom.models.runtime.settings import settings
from turnloom.models.tables.audit import AuditRow

KEY = b"a key that the database does not have"
BRIEF = RolloutRequest(name="styles/brief", text="Be brief.", share=0.5)
NOA = Profile(name="Noa Levi", scopes=["calendar.read"])

Action = Callable[[Session, UUID], object]


@pytest.fixture
def tenant(database: str, monkeypatch: pytest.MonkeyPatch) -> UUID:
    """A tenant with two users, one of whom has an account."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([secrets.new_key()]))
    settings.cache_clear()
    with transaction() as db, acting(Operator(name="Dana")):
        made = tenants.create(db, "acme")
        for user_id in ("noa", "ben"):
            users.put_user(db, made, user_id, NOA)
        integrations.put_account(db, made, "noa", "calendar", AccountRequest(secret={"password": "x"}))
    return made


def records(tenant: UUID) -> list[AuditRow]:
    with transaction() as db:
        assert audit.verify(db, tenant, "") == []
        return audit.page(db, tenant, "", 0, 100)


def a_key(db: Session, tenant: UUID) -> UUID:
    return keys.create(db, tenant, "ci", ["turns:write"])[0]


def a_rollout(db: Session, tenant: UUID) -> UUID:
    return rollouts.start(db, tenant, BRIEF, "Be brief.", "Dana").id


@pytest.mark.parametrize(
    ("action", "kinds"),
    [
        (lambda db, of: tenants.set_budget(db, "acme", Budget(turn_tokens=100)), ["budget.set"]),
        (lambda db, of: limits.change(db, "acme", {"window": 3}), ["limits.set"]),
        (a_key, ["key.created"]),
        (lambda db, of: keys.rotate(db, a_key(db, of), timedelta(days=1)), ["key.created"] * 2 + ["key.rotated"]),
        (lambda db, of: keys.revoke(db, a_key(db, of)), ["key.created", "key.revoked"]),
        (lambda db, of: overrides.write(db, of, "styles/brief", "Be brief.", "Dana"), ["override.set"]),
        (lambda db, of: overrides.write(db, of, "styles/brief", None, "Dana"), ["override.removed"]),
        (
            lambda db, of: rollouts.end(db, of, a_rollout(db, of), RolloutEnd("stopped", "Dana")),
            ["rollout.started", "rollout.stopped"],
        ),
        (
            lambda db, of: rollouts.end(db, of, a_rollout(db, of), RolloutEnd("promoted", "Dana")),
            ["rollout.started", "rollout.promoted", "override.set"],
        ),
        (lambda db, of: channel_accounts.put(db, of, "telegram", "desk", "hotel", {"bot_token": "x"}), ["channel.set"]),
        (callback_secrets.reveal, ["callback_secret.created", "callback_secret.shown"]),
        (lambda db, of: users.put_user(db, of, "noa", NOA), ["user.set"]),
        (lambda db, of: users.grant(db, of, "noa", ["calendar.write"]), ["user.scopes_set"]),
        (lambda db, of: users.connect(db, of, "noa", "ben"), ["users.connected"]),
        (lambda db, of: users.remove_user(db, of, "noa"), ["user.removed"]),
        (lambda db, of: integrations.remove_account(db, of, "noa", "calendar"), ["account.removed"]),
        (lambda db, of: tenants.ensure(db, "acme"), []),
        (lambda db, of: users.remove_user(db, of, "nobody"), []),
    ],
)
def test_an_action_is_recorded_with_who_did_it(tenant: UUID, action: Action, kinds: list[str]) -> None:
    """In the same commit. What changes nothing leaves no record."""
    before = len(records(tenant))
    with transaction() as db, acting(Operator(name="Dana")):
        action(db, tenant)

    made = records(tenant)[before:]
    assert [row.kind for row in made] == kinds
    assert all(row.content is not None and row.content["by"] == "Dana" for row in made)


def test_an_action_that_is_not_committed_leaves_no_record(tenant: UUID) -> None:
    """The record is part of the transaction."""
    before = len(records(tenant))
    with transaction() as db:
        a_key(db, tenant)
        db.rollback()

    assert len(records(tenant)) == before


def test_who_acts_by_a_key_is_named_by_it(tenant: UUID) -> None:
    """The record has the key's id and its name."""
    with transaction() as db:
        key_id = a_key(db, tenant)
    with transaction() as db, acting(Operator(key_id=key_id)):
        users.grant(db, tenant, "noa", ["calendar.write"])

    content = records(tenant)[-1].content
    assert content is not None
    assert (content["by"], content["key_id"]) == ("ci", str(key_id))


def test_records_hold_no_secret_and_no_user(tenant: UUID) -> None:
    """They stay when a user is erased, so they name users by a digest only."""
    with transaction() as db:
        users.remove_user(db, tenant, "noa")
        channel_accounts.put(db, tenant, "telegram", "desk", "hotel", {"bot_token": "very secret"})

    told = str([row.content for row in records(tenant)])
    assert not any(word in told for word in ("noa", "Noa", "password", "very secret"))


def test_a_tenant_that_is_made_has_its_first_record(tenant: UUID) -> None:
    """It says by whom."""
    first = records(tenant)[0]

    assert (first.kind, first.content) == ("tenant.created", {"name": "acme", "by": "Dana"})


CUT = """
    DELETE FROM audit WHERE conversation_id = '' AND seq > 2;
    UPDATE tenants SET audit_seq = 2, audit_hash = (SELECT hash FROM audit WHERE conversation_id = '' AND seq = 2)
"""


@pytest.mark.parametrize(
    ("tamper", "seqs"),
    [
        ('UPDATE audit SET content = content || \'{"by": "somebody"}\' WHERE seq = 2', {2}),
        ("UPDATE audit SET kind = 'other' WHERE seq = 2", {2}),
        ("DELETE FROM audit WHERE seq = 2", {2, 3}),
        (
            "UPDATE audit SET seq = 13 - seq WHERE seq IN (2, 3); UPDATE audit SET seq = seq - 8 WHERE seq > 9",
            {2, 3, 4},
        ),
        ("DELETE FROM audit WHERE seq = 4", {4}),
        (CUT, {4}),
        ("DELETE FROM audit; UPDATE tenants SET audit_seq = 0, audit_hash = ''", {4}),
        ("DELETE FROM tenants", {5}),
    ],
    ids=["edit", "field", "gap", "reordering", "cut", "cut and set back", "all removed", "tenant"],
)
def test_tampering_by_a_superuser_is_named(tenant: UUID, tamper: str, seqs: set[int]) -> None:
    """The four records are sealed. The chain or the head reveals what was done to them, with the number."""
    with transaction() as db:
        audit_heads.seal(db, KEY)
    url = settings().owner_database_url
    assert url is not None
    with psycopg.connect(url) as owner:
        owner.execute(tamper)  # type: ignore[call-overload]

    with transaction() as db:
        faults, _ = audit_heads.verify_heads(db, tenant, None, KEY)
        faults += audit.verify_chains(db, audit.chains(db, Scope(), None, 10))
    assert {fault.seq for fault in faults} == seqs
    assert {(fault.tenant_id, fault.conversation_id) for fault in faults} == {(tenant, "")}


def test_nobody_acts_for_a_tenant_that_is_not_there(tenant: UUID) -> None:
    """A record without a chain is refused."""
    with pytest.raises(Exception, match="query returned no rows"), transaction() as db:
        overrides.tenant_audit.append(db, uuid4(), "key.created", {})
