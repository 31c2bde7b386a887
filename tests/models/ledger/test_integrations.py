"""Accounts with outside services have encrypted secrets, and a state after a refusal."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from tests.factories import make_tenant
from tests.facts import wait_for
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.errors import NotFound, ToolFailed, Unavailable
from turnloom.models.ledger import integrations, users
from turnloom.models.ledger.integrations import NO_ACCESS, Account
from turnloom.models.runtime import secrets
from turnloom.models.runtime.settings import settings

OLD, NEW, OTHER = (secrets.new_key() for _ in range(3))
SECRET = {"password": "correct horse"}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch):
    """Return a function that sets the keys, as a restart with another environment does."""

    def set_keys(*chosen: str) -> None:
        monkeypatch.setattr(settings(), "secret_keys", list(chosen))

    return set_keys


@pytest.fixture
def tenant(database: str, keys) -> UUID:
    keys(OLD)
    tenant_id = make_tenant()
    with transaction() as db:
        for user_id in ("noa", "omer"):
            users.put_user(db, tenant_id, user_id, Profile(name=user_id, scopes=["a.read"]))
    return tenant_id


def put(tenant_id: UUID, user_id: str = "noa", **fields: object) -> Account:
    with transaction() as db:
        request = AccountRequest.model_validate({"secret": SECRET, **fields})
        return integrations.put_account(db, tenant_id, user_id, "caldav", request)


def account(tenant_id: UUID, user_id: str = "noa") -> Account:
    with transaction() as db:
        return integrations.access_of(db, tenant_id, user_id).accounts["caldav"]


def rotate_all() -> integrations.Rotated:
    with transaction() as db:
        return integrations.rotate(db, UUID(int=0))


def test_scopes_and_accounts_of_a_user(tenant: UUID) -> None:
    """Scopes and accounts are read together. A person outside the directory, or of another tenant, allows nothing."""
    made, other = put(tenant, settings={"url": "https://cal.example.com"}), make_tenant("other")
    with transaction() as db:
        noa, omer, ghost = (integrations.access_of(db, tenant, user_id) for user_id in ("noa", "omer", "ghost"))
        theirs = integrations.access_of(db, other, "noa")

    assert (noa.scopes, noa.accounts) == ({"a.read"}, {"caldav": made})
    assert (made.status, made.settings, made.secret) == ("active", {"url": "https://cal.example.com"}, SECRET)
    assert (omer.scopes, omer.accounts) == ({"a.read"}, {})
    assert ghost == theirs == NO_ACCESS


def test_a_secret_is_nowhere_in_the_clear(tenant: UUID, database: str) -> None:
    """Neither the table nor the Python representation of an account shows it."""
    made = put(tenant)
    with psycopg.connect(database) as db:
        row = db.execute("SELECT accounts::text, encode(secret, 'escape') FROM accounts").fetchone()

    assert row is not None
    assert "horse" not in "".join(row)
    assert "horse" not in repr(made)
    assert str(made.sealed) not in repr(made)


def test_connecting_again_keeps_the_account(tenant: UUID) -> None:
    """The account keeps its id, gets the new secret, and is active again."""
    first = put(tenant)
    with transaction() as db:
        integrations.needs_reauth(db, tenant, first.id, first.updated_at)
    refused = account(tenant)
    again = put(tenant, secret={"password": "new"})

    assert (refused.status, again.status, again.id) == ("reauth_required", "active", first.id)
    assert again.secret == {"password": "new"}


def test_a_refusal_of_an_old_secret_does_not_count(tenant: UUID) -> None:
    """An account that is connected again while a call with its old secret is refused stays active."""
    first = put(tenant)
    put(tenant, secret={"password": "new"})
    with transaction() as db:
        integrations.needs_reauth(db, tenant, first.id, first.updated_at)

    assert account(tenant).status == "active"


def test_removing_an_account(tenant: UUID) -> None:
    """The account and its secret are gone. A second removal finds nothing."""
    put(tenant)
    with transaction() as db:
        integrations.remove_account(db, tenant, "noa", "caldav")
        assert integrations.accounts_of(db, tenant, "noa") == []
        with pytest.raises(NotFound):
            integrations.remove_account(db, tenant, "noa", "caldav")


def test_rotating_keys(tenant: UUID, keys) -> None:
    """Both keys are readable, the new one first. Once rotated, the old key may go. Rotating again does nothing."""
    put(tenant)
    keys(NEW, OLD)
    put(tenant, "omer")
    before = account(tenant)
    read = before.secret
    first, second = rotate_all(), rotate_all()
    keys(NEW)
    after = account(tenant)

    assert (first.done, second.done, second.last) == (1, 0, None)
    assert (read, after.secret, account(tenant, "omer").secret) == (SECRET, SECRET, SECRET)
    assert (after.updated_at, after.status) == (before.updated_at, "active")
    assert after.sealed != before.sealed


def test_rotating_goes_on_where_it_stopped(tenant: UUID, keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call is a transaction of its own. Secrets that are done are not read again."""
    monkeypatch.setattr(integrations, "_ROTATED_AT_ONCE", 1)
    put(tenant)
    put(tenant, "omer")
    keys(NEW, OLD)

    first = rotate_all()
    second = rotate_all()

    assert first.last is not None
    assert second.last is not None
    assert (first.done, second.done, rotate_all().last, first.last < second.last) == (1, 1, None, True)


def test_an_unreadable_secret_is_reported_and_left(tenant: UUID, keys) -> None:
    """The others are rotated. The unreadable secret does not change, so that its key may be put back."""
    lost = put(tenant)
    keys(OTHER)
    put(tenant, "omer")
    keys(NEW, OTHER)
    with transaction() as db:
        unreadable = integrations.unreadable(db)
    rotated = rotate_all()

    assert (rotated.done, rotated.unreadable, unreadable) == (1, [lost.id], 1)
    with pytest.raises(ToolFailed, match="none of TURNLOOM_SECRET_KEYS") as refused:
        account(tenant).secret  # noqa: B018 - reading it is the act
    assert refused.value.code == "CONNECTION_INACTIVE"
    keys(NEW, OLD)
    assert account(tenant).secret == SECRET


@pytest.mark.parametrize("wrong", [(), ("no key",), (NEW, "no key")])
def test_without_a_key_nothing_is_kept(tenant: UUID, keys, wrong: tuple[str, ...]) -> None:
    """The error says what is missing and what to do, but never shows the value. Nothing is stored."""
    keys(*wrong)

    with pytest.raises(Unavailable, match=r"TURNLOOM_SECRET_KEYS .*new-key") as refused:
        put(tenant)

    assert "no key'" not in str(refused.value)
    with transaction() as db:
        assert integrations.accounts_of(db, tenant, "noa") == []
    assert put(tenant, secret=None).secret is None


def test_rotating_does_not_put_an_old_secret_back(tenant: UUID, keys, database: str) -> None:
    """If an account is connected again meanwhile, rotation waits for it and keeps the new secret."""
    put(tenant)
    keys(NEW, OLD)
    request = AccountRequest(secret={"password": "newest"})
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    with ThreadPoolExecutor() as pool, psycopg.connect(database, autocommit=True) as watcher:
        with transaction() as db:
            integrations.put_account(db, tenant, "noa", "caldav", request)
            rotating = pool.submit(rotate_all)
            wait_for(lambda: watcher.execute(waiting).fetchone() == (1,))
        rotated = rotating.result(timeout=5)

    assert (rotated.done, account(tenant).secret) == (0, {"password": "newest"})
