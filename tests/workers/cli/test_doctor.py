"""The doctor finds faults and names the remedy."""

import json
import traceback

import psycopg
import pytest
from click.testing import CliRunner
from redis import Redis

from tests.factories import make_tenant
from tests.pooler import pooled
from turnloom.models.connections.database import close_connections, transaction
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import integrations, users
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions
from turnloom.tools.hooks import hooks
from turnloom.workers.cli import main, server_checks

ABOUT_SERVERS = {"database", "connections", "schema", "role", "clock", "redis", "redis eviction", "broker"}
ABOUT_SERVERS |= {"row security"}


@pytest.fixture
def changed(monkeypatch):
    """A function that changes settings for this test."""

    def change(variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    yield change
    monkeypatch.undo()
    settings.cache_clear()


def examine() -> tuple[int, dict[str, dict[str, str | None]]]:
    """Run `turnloom doctor --json`; return its exit code and its findings by name."""
    done = CliRunner().invoke(main, ["doctor", "--json"])
    return done.exit_code, {finding["check"]: finding for finding in json.loads(done.stdout)}


def test_healthy_servers_are_found_healthy(database):
    """A migrated database under a role that owns nothing and a Valkey that evicts nothing pass."""
    _, findings = examine()

    assert {findings[name]["status"] for name in ABOUT_SERVERS} == {"ok"}


def test_absent_database_is_found(database, monkeypatch):
    """Without Postgres the doctor fails, names the remedy, and skips the checks that need Postgres."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://turnloom@127.0.0.1:1/turnloom")
    settings.cache_clear()

    exit_code, findings = examine()

    assert exit_code == 1
    assert findings["database"]["status"] == "failed"
    assert "DATABASE_URL" in findings["database"]["mend"]
    assert {findings[name]["status"] for name in ("schema", "role", "clock")} == {"skipped"}


@pytest.mark.parametrize(
    ("variables", "status", "told"),
    [
        ({}, "ok", "offline costs 0"),
        ({"TURNLOOM_LLM_PRICES": "/nowhere.yaml"}, "warning", "TURNLOOM_LLM_PRICES"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1", "TURNLOOM_LLM_MODEL": "mystery"}, "warning", "mystery"),
    ],
)
def test_unknown_prices_are_found(monkeypatch, variables, status, told):
    """The doctor warns if prices cannot be read or the model has none, because budgets in dollars then do nothing."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()

    _, findings = examine()

    monkeypatch.undo()
    settings.cache_clear()
    assert findings["prices"]["status"] == status
    assert told in findings["prices"]["detail"]


def test_superuser_is_found(database, servers, monkeypatch):
    """The application must not run as a superuser."""
    monkeypatch.setenv("DATABASE_URL", f"{servers.postgres.url.rpartition('/')[0]}/{database.rpartition('/')[2]}")
    settings.cache_clear()

    _, findings = examine()

    assert findings["role"]["status"] == "failed"
    assert "superuser" in findings["role"]["detail"]


def test_empty_database_is_found(database, servers, monkeypatch):
    """A database without our tables needs `turnloom migrate`."""
    monkeypatch.setenv("DATABASE_URL", servers.postgres.url)
    settings.cache_clear()

    _, findings = examine()

    assert (findings["schema"]["status"], findings["schema"]["mend"]) == ("failed", "run `turnloom migrate`")


@pytest.mark.parametrize(
    ("more", "variables", "told"),
    [
        ("", {}, "TURNLOOM_DATABASE_POOLED"),
        ("ignore_startup_parameters = options", {}, "TURNLOOM_DATABASE_POOLED"),
        ("", {"TURNLOOM_DATABASE_POOLED": "true"}, "run `turnloom migrate`"),
    ],
    ids=["refuses", "ignores", "declared"],
)
def test_a_pooler_is_found(database, tmp_path, monkeypatch, more, variables, told):
    """The pooler may refuse or ignore a session's settings. A declared one still needs what `turnloom migrate` sets."""
    with pooled(database, tmp_path / "pooler", more=more) as through:
        for name, value in ({"DATABASE_URL": through} | variables).items():
            monkeypatch.setenv(name, value)
        close_connections()
        settings.cache_clear()

        _, findings = examine()
        close_connections()

    assert (findings["database"]["status"], findings["connections"]["status"]) == ("ok", "failed")
    assert told in findings["connections"]["detail"]


def test_missing_functions_are_found(database):
    """If a later migration has dropped a version's functions, it needs `turnloom migrate`, and no worker starts."""
    with psycopg.connect(settings().owner_database_url) as owner:
        functions.drop(owner, functions.installed(owner))

    _, findings = examine()
    worker = CliRunner().invoke(main, ["worker", "--queues", "tools.io"])

    assert (findings["schema"]["status"], findings["schema"]["mend"]) == ("failed", "run `turnloom migrate`")
    assert functions.schema() in findings["schema"]["detail"]
    assert worker.exit_code == 1
    assert "run `turnloom migrate`" in worker.stderr


def test_evicting_redis_is_found(database, redis_url):
    """A server that may evict queued tasks fails the check."""
    with Redis.from_url(redis_url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            _, findings = examine()
        finally:
            client.config_set("maxmemory-policy", "noeviction")

    assert findings["redis"]["status"] == "ok"
    assert findings["redis eviction"]["status"] == "failed"


@pytest.mark.parametrize(
    ("variable", "value", "check"),
    [
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "language model"),
        ("TURNLOOM_PROMPTS_DIR", "nowhere", "agents"),
        ("TURNLOOM_DEFAULT_AGENT", "nobody", "agents"),
        ("TURNLOOM_OFFLINE_MODEL", "", "language model"),
        ("TURNLOOM_PACKS", "dates,travel", "settings"),
        ("TURNLOOM_TRAVEL_LATENCY_MS", "-1", "packs"),
        ("REDIS_URL", "amqp://guest@127.0.0.1", "settings"),
        ("TURNLOOM_PLAN_MAX_STEPS", "many", "settings"),
        ("TURNLOOM_MCP_SERVERS", "nowhere.yaml", "MCP servers"),
    ],
)
def test_wrong_setting_is_found(database, monkeypatch, variable, value, check):
    """A wrong setting is found before the first turn needs it."""
    monkeypatch.setenv(variable, value)
    settings.cache_clear()

    exit_code, findings = examine()

    assert exit_code == 1
    assert findings[check]["status"] == "failed"
    assert findings[check]["mend"]


def test_a_missing_pack_leaves_the_other_checks(database, monkeypatch):
    """The missing pack is reported under its own name, and the database is checked all the same."""
    monkeypatch.setenv("TURNLOOM_PACKS", '["datez"]')
    settings.cache_clear()

    _, findings = examine()

    assert {name: findings[name]["status"] for name in ("settings", "packs", "schema")} == {
        "settings": "ok",
        "packs": "failed",
        "schema": "ok",
    }


def test_a_missing_hook_is_found(monkeypatch):
    """A hook that cannot be loaded fails the check by its name, because it may be a guard of the tools."""
    monkeypatch.setenv("TURNLOOM_HOOKS", '["no.such.guard"]')
    settings.cache_clear()
    hooks.cache_clear()

    exit_code, findings = examine()
    hooks.cache_clear()

    assert exit_code == 1
    assert findings["hooks"]["status"] == "failed"
    assert "no.such.guard" in findings["hooks"]["detail"]


def test_refused_override_is_found(database, tmp_path, monkeypatch):
    """A tenant's text that cannot be used harms no turn. The doctor names the tenant and the reason."""
    (tmp_path / "acme" / "styles").mkdir(parents=True)
    (tmp_path / "acme" / "styles" / "brief.j2").write_text("no front matter", "utf-8")
    monkeypatch.setenv("TURNLOOM_TENANT_PROMPTS_DIR", str(tmp_path))
    settings.cache_clear()
    make_tenant("acme")

    _, findings = examine()

    assert findings["overrides"]["status"] == "warning"
    assert "of tenant acme: styles/brief" in findings["overrides"]["detail"]


def test_a_missing_secret_key_is_found(database, monkeypatch):
    """The doctor warns if there is no key, or not the one that an account's secret needs."""
    tenant, told = make_tenant(), []
    kept, another = new_key(), new_key()
    for keys in ([], [kept], [another], ["no key"]):
        monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps(keys))
        settings.cache_clear()
        if keys == [kept]:
            with transaction() as db:
                users.put_user(db, tenant, "noa", Profile(name="Noa"))
                integrations.put_account(db, tenant, "noa", "caldav", AccountRequest(secret={"password": "p"}))
        told.append(examine()[1]["secret keys"])

    assert [finding["status"] for finding in told] == ["warning", "ok", "warning", "warning"]
    assert "is not set" in told[0]["detail"]
    assert "can read 1 of the stored secrets" in told[2]["detail"]
    assert another not in json.dumps(told)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("DATABASE_URL", "postgresql//turnloom:hunter2@db/turnloom"),
        ("DATABASE_URL", "postgresql://turnloom:hunter2/x@db/turnloom"),
        ("DATABASE_URL", "postgresql://turnloom:hunter2@127.0.0.1:1/turnloom"),
        ("TURNLOOM_OWNER_DATABASE_URL", "turnloom:hunter2@db"),
        ("REDIS_URL", "redis://:hunter2/x@redis:6379/0"),
        ("REDIS_URL", "redis://:hunter2@127.0.0.1:1/0"),
        ("OPENAI_BASE_URL", "http://me:hunter2@127.0.0.1:1/v1?key=hunter2"),
        ("OPENAI_BASE_URL", "http://me:hunter2/x@127.0.0.1:1/v1"),
    ],
)
@pytest.mark.parametrize("command", [["doctor"], ["doctor", "--json"], ["migrate"], ["audit", "verify"]])
def test_no_command_shows_the_password_of_a_url(database, monkeypatch, name, url, command):
    """The password stays hidden if the URL is malformed or the server does not answer, also in tracebacks."""
    monkeypatch.setenv(name, url)
    close_connections()
    settings.cache_clear()

    done = CliRunner().invoke(main, command)

    shown = done.output + ("".join(traceback.format_exception(done.exception)) if done.exception else "")
    settings.cache_clear()
    assert "hunter2" not in shown


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "Turnloom's own messages and chords, on Redis"),
        ({"TURNLOOM_BROKER_FAST": "0"}, "Celery's own messages and chords, on Redis"),
        ({"TURNLOOM_BROKER_URL": "memory://m"}, "Celery's own messages, on memory://m; chords on Redis"),
    ],
)
def test_the_parts_that_carry_messages_are_named(changed, variables, told):
    """The doctor says whether the parts are ours or Celery's, and names the broker."""
    changed(variables)

    assert server_checks.broker() == told


def test_a_broker_that_does_not_answer_is_found(changed):
    """The broker's URL is shown without its password."""
    changed({"TURNLOOM_BROKER_URL": "amqp://me:password@127.0.0.1:1"})

    with pytest.raises(Unavailable, match=r"^amqp://127\.0\.0\.1:1 does not answer: OperationalError$"):
        server_checks.broker()
