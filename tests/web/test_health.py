"""The API reports its health."""

import psycopg
import pytest
from flask.testing import FlaskClient

from tests.models.ledger.explaining import beat
from turnloom.models.connections import redis
from turnloom.models.connections.database import close_connections
from turnloom.models.ledger import readiness
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions
from turnloom.workers.broker.queues import QUEUES


def test_alive(client: FlaskClient) -> None:
    """The process says that it is alive, and asks for no key."""
    answer = client.get("/healthz", headers={"Authorization": ""})

    assert (answer.status_code, answer.get_json()) == (200, {"status": "ok"})


def test_ready_without_workers(client: FlaskClient) -> None:
    """Ready means able to record a turn. A recorded turn waits for workers, beat and Redis, so they are not needed."""
    redis_url = "redis://127.0.0.1:1/0"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDIS_URL", redis_url)
        settings.cache_clear()
        redis.redis.cache_clear()
        answer = client.get("/readyz", headers={"Authorization": ""})
    settings.cache_clear()
    redis.redis.cache_clear()

    assert (answer.status_code, answer.get_json()) == (200, {"status": "ready"})


def test_not_ready_without_the_role_of_tenants(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the application may not take the role that serves tenants, it can accept nothing, and says what to run."""
    monkeypatch.setattr(readiness, "TENANT_ROLE", "turnloom_absent")

    answer = client.get("/readyz")

    assert (answer.status_code, answer.get_json()["code"]) == (503, "not_ready")
    assert "row-level security is not set up" in answer.get_json()["detail"]


def test_healthy_when_all_are_there(client: FlaskClient) -> None:
    """A deep check is healthy if workers take from every queue and beat runs."""
    beat(*QUEUES)
    redis.note_beat(60)

    answer = client.get("/healthz?deep=1", headers={"Authorization": ""})

    assert (answer.status_code, answer.get_json()) == (200, {"status": "ok"})


def test_not_healthy_without_workers_or_beat(client: FlaskClient) -> None:
    """The answer names the queues that no worker takes from, and beat."""
    beat("plan", "tools.cpu")

    answer = client.get("/healthz?deep=1", headers={"Authorization": ""})

    assert (answer.status_code, answer.get_json()["code"]) == (503, "not_healthy")
    assert "no living worker takes from tools.io, respond, deliver, maintenance" in answer.get_json()["detail"]
    assert "beat does not run" in answer.get_json()["detail"]


@pytest.mark.new_database
def test_not_healthy_when_no_turn_can_be_accepted(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason why no turn can be accepted comes first."""
    beat(*QUEUES)
    redis.note_beat(60)
    monkeypatch.setattr(
        "turnloom.web.health.revisions.pending", lambda *_: "the database is at revision 1, this needs 2"
    )

    answer = client.get("/healthz?deep=1")

    assert (answer.status_code, answer.get_json()["code"]) == (503, "not_healthy")
    assert "revision" in answer.get_json()["detail"]


@pytest.mark.new_database
def test_not_ready_without_migration(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer names a database at another revision as the reason."""
    monkeypatch.setattr(
        "turnloom.web.health.revisions.pending", lambda *_: "the database is at revision 1, this needs 2"
    )

    answer = client.get("/readyz")

    assert (answer.status_code, answer.get_json()["code"]) == (503, "not_ready")
    assert "revision" in answer.get_json()["detail"]


def test_not_ready_without_functions(client: FlaskClient) -> None:
    """A process is no longer ready when later migrations have dropped the functions of its version."""
    was_ready = client.get("/readyz").status_code
    owner_url = settings().owner_database_url
    assert owner_url
    with psycopg.connect(owner_url) as owner:
        functions.drop(owner, functions.installed(owner))

    answer = client.get("/readyz")

    assert (was_ready, answer.status_code, answer.get_json()["code"]) == (200, 503, "not_ready")
    assert "run `turnloom migrate`" in answer.get_json()["detail"]


def test_not_ready_when_postgres_only_reads(client: FlaskClient) -> None:
    """The answer names a Postgres that takes no writes as the reason."""
    owner_url = settings().owner_database_url
    assert owner_url
    with psycopg.connect(owner_url) as owner:
        owner.execute(f"ALTER DATABASE {owner.info.dbname} SET default_transaction_read_only = on")
    close_connections()

    answer = client.get("/readyz")

    assert (answer.status_code, answer.get_json()["code"]) == (503, "not_ready")
    assert "only reads" in answer.get_json()["detail"]
