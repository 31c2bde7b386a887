"""Accounts with providers of messages are set and removed on the command line; their secrets are never shown."""

import json

import pytest
from click.testing import CliRunner, Result

from tests.workers.channels.accounts import CONFIGS
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import channel_accounts, tenants
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings
from turnloom.workers.channels.accounts import open_account
from turnloom.workers.cli import main

OLD, NEW = new_key(), new_key()


def run(*arguments: str, stdin: str | None = None) -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments, input=stdin)


def put(tenant: str, name: str = "desk", agent: str = "hotel", **config: object) -> Result:
    given = json.dumps({**CONFIGS["telegram"], **config})
    arguments = ("channel", "set", "telegram", name, "--tenant", tenant, "--agent", agent, "--config", "-")
    return run(*arguments, stdin=given)


@pytest.fixture(autouse=True)
def acme(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tenants `acme` and `other`, and a key for secrets."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([OLD]))
    settings.cache_clear()
    for tenant in ("acme", "other"):
        run("tenant", "create", tenant)


def token() -> str:
    """Return the bot's token of the account, as a worker reads it."""
    with transaction() as db:
        stored = channel_accounts.get(db, tenants.find(db, "acme").id, "telegram", "desk")
    read: str = open_account(stored).account.config.bot_token.get_secret_value()
    return read


def test_setting_again_replaces_an_account() -> None:
    """The address of its webhook stays."""
    first, second = put("acme"), put("acme", agent="travel", bot_token="88:BB")

    assert (first.exit_code, second.exit_code) == (0, 0), first.output + second.output
    assert "/v1/channels/telegram/desk" in second.stdout
    (row,) = json.loads(run("channel", "list", "--json").stdout)
    assert (row["account"], row["tenant"], row["agent"]) == ("desk", "acme", "travel")
    assert token() == "88:BB"


def test_names_are_unique_on_a_channel() -> None:
    """The provider's address does not name the tenant."""
    put("acme")

    taken = put("other")

    assert (taken.exit_code, "choose another name" in taken.output) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"agent": "nobody"}, "nobody"),
        ({"bot_tokn": "x"}, "bot_tokn"),
        ({"name": "a:b"}, "letters, digits"),
        ({"pace": 0}, "pace"),
    ],
)
def test_what_is_wrong_is_named(arguments: dict[str, object], said: str) -> None:
    """But no value of the configuration, which may be a secret."""
    result = put("acme", **arguments)  # type: ignore[arg-type]  # of each kind

    assert result.exit_code != 0
    assert said in result.output
    assert "77:AA-token" not in result.output


def test_a_configuration_that_is_no_object() -> None:
    """The error shows how to write one."""
    result = run(
        "channel", "set", "slack", "desk", "--tenant", "acme", "--agent", "hotel", "--config", "-", stdin="[1]"
    )

    assert (result.exit_code, "JSON object" in result.output) == (1, True)


def test_removing_an_account() -> None:
    """Only its own tenant can."""
    put("acme")

    foreign = run("channel", "remove", "telegram", "desk", "--tenant", "other")
    own = run("channel", "remove", "telegram", "desk", "--tenant", "acme")

    assert (foreign.exit_code, own.exit_code) == (1, 0)
    assert json.loads(run("channel", "list", "--json").stdout) == []


def test_a_new_key_encrypts_accounts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the rotation, the old key can go."""
    put("acme")
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([NEW, OLD]))
    settings.cache_clear()

    assert "1 secrets" in run("secrets", "rotate").stdout
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([NEW]))
    settings.cache_clear()
    assert token() == "77:AA-token"
