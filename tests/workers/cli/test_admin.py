"""Tenants, keys and migrations are managed on the command line."""

import json

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import text

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import callback_secrets, keys, tenants
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import COMMANDS, main


def run(*arguments: str) -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments)


def test_a_key_has_its_scopes_until_it_is_revoked(database):
    """A created key gives its scopes in its tenant until it is revoked."""
    tenant = json.loads(run("tenant", "create", "acme", "--json").stdout)
    key = json.loads(run("key", "create", "--tenant", "acme", "--scopes", "turns:read,turns:write", "--json").stdout)
    with transaction() as db:
        caller = keys.recognise(db, keys.digest(key["key"]))

    revoked = run("key", "revoke", key["id"])

    with transaction() as db:
        assert keys.recognise(db, keys.digest(key["key"])) is None
    assert revoked.exit_code == 0
    assert (str(caller.tenant_id), caller.scopes) == (tenant["id"], {"turns:read", "turns:write"})


def test_list_of_keys_does_not_contain_keys(database):
    """A key is shown once, when it is created."""
    run("tenant", "create", "acme")
    made = json.loads(run("key", "create", "--tenant", "acme", "--scopes", "admin", "--json").stdout)

    listed = run("key", "list", "--tenant", "acme", "--json")

    assert [row["id"] for row in json.loads(listed.stdout)] == [made["id"]]
    assert made["key"] not in listed.output


def test_a_tenants_name_is_unique(database):
    """A second tenant of the same name is refused, with exit code 1."""
    run("tenant", "create", "acme")

    second = run("tenant", "create", "acme")

    assert second.exit_code == 1
    assert "acme" in second.stderr
    assert [row.split("\t")[1] for row in run("tenant", "list").stdout.splitlines()] == ["name", "acme"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("key", "create", "--tenant", "acme", "--scopes", "everything"),
        ("key", "create", "--tenant", "acme", "--scopes", ","),
        ("key", "revoke", "not-an-id"),
        ("worker", "--queues", " , "),
        ("up", "--ephemeral", "--data-dir", "somewhere"),
        ("fly",),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments):
    """A command with wrong usage is refused before anything happens."""
    refused = run(*arguments)

    assert refused.exit_code == 2


def test_unknown_tenant_is_exit_code_1(database):
    """A failed command says why in one sentence, without a traceback."""
    failed = run("key", "list", "--tenant", "nobody")

    assert failed.exit_code == 1
    assert failed.stderr.startswith("Error: there is no tenant 'nobody'")


def test_migrate_may_run_again(database):
    """A database that is up to date stays as it is."""
    again = run("migrate")

    assert again.exit_code == 0


@pytest.mark.parametrize("name", [*COMMANDS, "hotel", "documents"])
def test_every_command_explains_itself(name):
    """Each command exists and has a help text, also those of packs."""
    helped = run(name, "--help")

    assert helped.exit_code == 0
    assert f"{name}" in helped.stdout.splitlines()[0]


def test_help_is_there_where_a_pack_is_missing(monkeypatch):
    """Only commands of packs need the packs; what they say names the one that is missing."""
    monkeypatch.setenv("TURNLOOM_PACKS", '["hotell"]')
    settings.cache_clear()

    helped, refused = run("--help"), run("hotel", "list", "--tenant", "acme")

    monkeypatch.undo()
    settings.cache_clear()
    assert (helped.exit_code, refused.exit_code) == (0, 1)
    assert "\n  doctor " in helped.stdout
    assert "there is no tool pack 'hotell'" in refused.stderr


def test_a_secret_of_callbacks_is_shown_once(database, monkeypatch):
    """The command shows it the first time, and a new one after a rotation. Both sign until the old one expires."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))
    settings.cache_clear()
    run("tenant", "create", "acme")
    shown = run("tenant", "secret", "acme")
    again = run("tenant", "secret", "acme")
    rotated = json.loads(run("tenant", "secret", "acme", "--rotate", "--json").stdout)["secret"]

    with transaction() as db:
        signing = callback_secrets.signing(db, tenants.find(db, "acme").id)

    assert signing == [rotated, shown.stdout.splitlines()[0]]
    assert all(secret.startswith("whsec_") for secret in signing)
    assert (again.exit_code, "--rotate" in again.stderr) == (1, True)
    assert run("secrets", "rotate", "--json").exit_code == 0


def test_a_secret_needs_a_tenant_and_a_key(database):
    """Without either the command says what is missing."""
    unknown = run("tenant", "secret", "nobody")
    run("tenant", "create", "acme")
    keyless = run("tenant", "secret", "acme")

    assert (unknown.exit_code, "nobody" in unknown.stderr) == (1, True)
    assert (keyless.exit_code, "TURNLOOM_SECRET_KEYS" in keyless.stderr) == (1, True)


def columns_of(key_id):
    """Return what the list says of a key of acme."""
    rows = json.loads(run("key", "list", "--tenant", "acme", "--json").stdout)
    return next(row for row in rows if row["id"] == key_id)


def create_key(*options):
    run("tenant", "create", "acme")
    return json.loads(run("key", "create", "--tenant", "acme", "--scopes", "turns:read", *options, "--json").stdout)


def caller_of(key):
    with transaction() as db:
        return keys.recognise(db, keys.digest(key["key"]))


def let_pass(interval):
    """Make all keys older by an interval of Postgres."""
    with transaction() as db:
        times = ("created_at", "expires_at", "last_used_at")
        db.execute(text("UPDATE keys SET " + ", ".join(f"{name} = {name} - interval '{interval}'" for name in times)))


def test_a_key_that_has_expired_is_unknown(database):
    """It works until then. A list says when that is."""
    key = create_key("--lasts", "2d")
    before = caller_of(key)

    let_pass("2 days")

    assert (before is not None, caller_of(key)) == (True, None)
    assert columns_of(key["id"])["expires_at"] is not None


def test_a_rotated_key_works_beside_the_new_one_for_the_overlap(database):
    """Both have the same rights; only the old one ends. A key that has ended cannot be rotated."""
    old = create_key("--lasts", "30d", "--name", "website")
    new = json.loads(run("key", "rotate", old["id"], "--overlap", "1h", "--json").stdout)
    during = caller_of(old), caller_of(new)

    let_pass("2 hours")

    assert (during[0].tenant_id, during[0].scopes) == (during[1].tenant_id, during[1].scopes)
    assert (caller_of(old), caller_of(new) is not None) == (None, True)
    assert (columns_of(new["id"])["name"], new["replaces"]) == ("website", old["id"])
    assert run("key", "rotate", old["id"]).exit_code == 1


def test_an_overlap_does_not_make_a_key_last_longer(database):
    """It ends when it would have ended, if that is sooner."""
    old = create_key("--lasts", "1h")
    ends = columns_of(old["id"])["expires_at"]

    run("key", "rotate", old["id"], "--overlap", "7d")

    assert columns_of(old["id"])["expires_at"] == ends


def test_a_list_tells_when_a_key_was_used(database):
    """To a minute: a key in constant use is not written each time."""
    key = create_key()
    unused = columns_of(key["id"])["last_used_at"]
    caller_of(key)
    first = columns_of(key["id"])["last_used_at"]
    caller_of(key)
    second = columns_of(key["id"])["last_used_at"]
    let_pass("2 minutes")
    caller_of(key)

    assert unused is None
    assert first == second
    assert columns_of(key["id"])["last_used_at"] > first
