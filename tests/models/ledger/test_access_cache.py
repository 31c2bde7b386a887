"""Access that suffices is trusted for a moment. What a user has just allowed counts at once."""

from uuid import UUID

import pytest

from tests.factories import make_tenant
from tests.facts import wait_for
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.ledger import access_cache, integrations, users
from turnloom.models.ledger.access_cache import recent_access_of

READ, WRITE = frozenset({"a.read"}), frozenset({"a.write"})


@pytest.fixture
def tenant(database: str) -> UUID:
    return make_tenant()


@pytest.fixture
def never_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no cached access grow old."""
    monkeypatch.setattr(access_cache._known, "_fresh_s", 3_600.0)


def allow(tenant_id: UUID, *scopes: str) -> None:
    with transaction() as db:
        users.put_user(db, tenant_id, "noa", Profile(name="Noa", scopes=list(scopes)))


@pytest.mark.usefixtures("never_old")
def test_access_is_read_once_for_the_steps_of_a_plan(tenant: UUID) -> None:
    """Further calls get the same object, as long as it includes what they need."""
    allow(tenant, "a.read")

    found = recent_access_of(tenant, "noa", READ)
    allow(tenant)

    assert recent_access_of(tenant, "noa", READ) is found


@pytest.mark.usefixtures("never_old")
def test_what_was_just_allowed_or_connected_counts_at_once(tenant: UUID) -> None:
    """Access that does not suffice is read again."""
    allow(tenant, "a.read")
    with transaction() as db:
        integrations.put_account(db, tenant, "noa", "notes", AccountRequest(status="inactive"))
    before = recent_access_of(tenant, "noa", READ)

    allow(tenant, "a.read", "a.write")
    with transaction() as db:
        integrations.put_account(db, tenant, "noa", "notes", AccountRequest())
    after = recent_access_of(tenant, "noa", READ | WRITE)

    assert (before.scopes, before.accounts["notes"].status) == (READ, "inactive")
    assert (after.scopes, after.accounts["notes"].status) == (READ | WRITE, "active")


def test_what_was_taken_back_is_known_within_seconds(tenant: UUID) -> None:
    """For reads. Calls with an effect look each time."""
    allow(tenant, "a.read")
    recent_access_of(tenant, "noa", READ)

    allow(tenant)

    wait_for(lambda: recent_access_of(tenant, "noa", READ).scopes == frozenset(), within_s=5)
