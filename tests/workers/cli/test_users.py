"""Users, their accounts and the keys of their secrets are managed on the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import integrations, notifications, tenants
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main
from turnloom.workers.cli.demo_users import put_demo_users

NEEDLE = "correct horse"


def run(*arguments: str, stdin: str | None = None) -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments, input=stdin)


def done(*arguments: str, stdin: str | None = None) -> str:
    """Run a command that must succeed; return what it printed."""
    result = run(*arguments, "--tenant", "acme", stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def acme(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant `acme` with the users `noa` and `omer`, and a key for secrets."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))
    settings.cache_clear()
    run("tenant", "create", "acme")
    done("user", "put", "noa", "--name", "Noa Levi", "--email", "noa@example.com", "--scopes", "a.read, b.write")
    done("user", "put", "omer", "--name", "Omer Tal")


def shown(user_id: str = "noa") -> dict[str, object]:
    found: dict[str, object] = json.loads(done("user", "show", user_id, "--json"))
    return found


@pytest.mark.usefixtures("acme")
def test_putting_again_changes_only_given_fields() -> None:
    """Fields that are not given keep their values."""
    done("user", "put", "noa", "--timezone", "Asia/Jerusalem", "--hours", "sun=10:00-16:00")
    noa = shown()

    assert (noa["name"], noa["email"], noa["scopes"]) == ("Noa Levi", "noa@example.com", ["a.read", "b.write"])
    assert (noa["timezone"], noa["working_hours"]) == ("Asia/Jerusalem", {"sun": ["10:00", "16:00"]})
    assert [row["id"] for row in json.loads(done("user", "list", "--json"))] == ["noa", "omer"]


@pytest.mark.usefixtures("acme")
def test_grants_and_connections() -> None:
    """A grant, a revocation, a connection and its removal each show at once."""
    done("user", "grant", "noa", "c.write")
    done("user", "revoke", "noa", "a.read")
    done("user", "connect", "noa", "omer")
    connected = shown()
    done("user", "disconnect", "omer", "noa")

    assert connected["scopes"] == ["b.write", "c.write"]
    assert connected["connections"] == [{"user": "omer", "name": "Omer Tal", "is_active": True}]
    assert shown()["connections"] == [{"user": "omer", "name": "Omer Tal", "is_active": False}]


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("source", ["stdin", "file"])
def test_an_account_is_shown_without_its_secret(source: str, tmp_path: Path) -> None:
    """The secret comes from standard input or a file, and is in no output."""
    secret = json.dumps({"password": NEEDLE})
    (tmp_path / "secret.json").write_text(secret)
    where = "-" if source == "stdin" else str(tmp_path / "secret.json")

    put = done("account", "put", "noa", "caldav", "--set", "url=https://x/?a=b", "--secret", where, stdin=secret)
    listed = done("account", "list", "noa", "--json")

    (account,) = json.loads(listed)
    assert (account["status"], account["has_secret"]) == ("active", True)
    assert account["settings"] == {"url": "https://x/?a=b"}
    assert NEEDLE not in put + listed + done("user", "show", "noa")
    done("account", "remove", "noa", "caldav")
    assert json.loads(done("account", "list", "noa", "--json")) == []


@pytest.mark.usefixtures("acme")
def test_an_inactive_account_is_kept() -> None:
    """An inactive account is listed as inactive."""
    done("account", "put", "noa", "caldav", "--inactive")

    assert [row["status"] for row in json.loads(done("account", "list", "noa", "--json"))] == ["inactive"]


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("user", "put", "new"), "name"),
        (("user", "put", "n é", "--name", "x"), "id"),
        (("user", "put", "noa", "--timezone", "Mars"), "timezone"),
        (("user", "put", "noa", "--hours", "mon"), "working_hours"),
        (("user", "grant", "ghost", "a"), "ghost"),
        (("user", "connect", "noa", "ghost"), "ghost"),
        (("account", "put", "ghost", "caldav"), "ghost"),
        (("account", "remove", "noa", "caldav"), "caldav"),
        (("account", "put", "noa", "caldav", "--secret", "-"), "JSON object"),
    ],
)
def test_a_wrong_argument_is_named(arguments: tuple[str, ...], told: str) -> None:
    """The exit code is 1 with a one-sentence error that repeats nothing that may be a secret."""
    refused = run(*arguments, "--tenant", "acme", stdin=NEEDLE)

    assert refused.exit_code == 1
    assert told in refused.stderr
    assert NEEDLE not in refused.output


@pytest.mark.usefixtures("acme")
def test_keys_are_rotated(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a new key first in the setting, `rotate` makes the old key superfluous. Without the old key it says so."""
    done("account", "put", "noa", "caldav", "--secret", "-", stdin=json.dumps({"password": NEEDLE}))
    old, made = settings().secret_keys, run("secrets", "new-key").stdout.strip()

    def rotate_with(*keys: str) -> Result:
        monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps(keys))
        settings.cache_clear()
        return run("secrets", "rotate", "--json")

    lost = rotate_with(new_key())
    done_now, again = rotate_with(made, *old), rotate_with(made)

    assert (lost.exit_code, len(json.loads(lost.stdout)["unreadable"])) == (1, 1)
    assert [json.loads(each.stdout)["rotated"] for each in (done_now, again)] == [1, 0]
    with transaction() as db:
        (account,) = integrations.accounts_of(db, tenants.find(db, "acme").id, "noa")
    assert account.secret == {"password": NEEDLE}


@pytest.mark.usefixtures("acme")
def test_adding_the_demo_users_keeps_existing_users() -> None:
    """Each start of the embedded stack adds the demo users that are missing. Existing users stay as they are."""
    seen = []
    for _ in range(2):
        with transaction() as db:
            put_demo_users(db, tenants.find(db, "acme").id)
        with transaction() as db:
            told = notifications.count(db, tenants.find(db, "acme").id, "noa", None)
        seen.append((done("user", "list", "--json"), done("user", "show", "david-katz", "--json"), told))

    assert seen[0] == seen[1]
    assert (shown()["timezone"], shown()["scopes"], told) == ("Asia/Jerusalem", ["a.read", "b.write"], 0)
    assert shown("david-katz")["connections"] == [
        {"user": "maya", "name": "Maya Stern", "is_active": True},
        {"user": "noa", "name": "Noa Levi", "is_active": True},
    ]
