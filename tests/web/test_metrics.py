"""Prometheus can read the metrics."""

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse
from sqlalchemy import text

from tests.factories import claim_turn, make_tenant, open_turn, record_plan, step
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement, transaction
from turnloom.models.connections.redis import note_beat, redis
from turnloom.models.ledger import workers
from turnloom.models.ledger.steps import FinishedStep
from turnloom.models.runtime.counters import Counts, counts
from turnloom.models.runtime.metrics import COUNTED, OBSERVED, hand_on
from turnloom.models.runtime.settings import settings
from turnloom.tools.registry import load_registry
from turnloom.workers.broker.queues import QUEUES
from turnloom.workers.running.outcomes import Parked
from turnloom.workers.running.tool_metrics import count_call, count_given_up, count_retry

TOOL = load_registry(["dates"]).get("dates.resolve_hint")
Samples = dict[tuple[str, ...], float]


def scrape(client: FlaskClient) -> Samples:
    """Return the metrics: (name, tool, value of its other label) -> value."""
    samples = [each for family in parse(client.get("/metrics").get_data(as_text=True)) for each in family.samples]
    return {
        (each.name, *(each.labels[name] for name in sorted(each.labels, reverse=True))): each.value for each in samples
    }


@pytest.fixture(autouse=True)
def nothing_counted(redis_url: str) -> None:
    counts.cache_clear()


def end(status: str, result: object = None, code: str | None = None, cache: str | None = None) -> FinishedStep:
    error = {"code": code, "message": "…"} if code else None
    return FinishedStep("s1", 1, status, result=result, error=error, cache=cache)  # type: ignore[arg-type]


def test_calls_of_a_tool_are_counted_by_status(client: FlaskClient) -> None:
    """Calls are counted by status, with their errors, missing fields, retries, cache hits and durations."""
    count_call(TOOL, end("succeeded", {}), 0.003)
    count_call(TOOL, end("succeeded", {}, cache="memory"), 0.001)
    count_call(TOOL, end("needs_input", {"needs": {"hint": True, "made up": True}}), 0.3)
    count_call(TOOL, end("failed", code="UPSTREAM_5XX"), 40.0)
    count_given_up(TOOL.name, end("unknown", code="TOOL_TIMEOUT"), 10.0)
    count_call(TOOL, Parked("s1", 1), 1.0)
    count_retry(TOOL.name, "UPSTREAM_5XX")
    hand_on()

    seen = scrape(client)

    name, calls = TOOL.name, "turnloom_tool_calls_total"
    assert {labels[2]: value for labels, value in seen.items() if labels[0] == calls} == {
        "succeeded": 2,
        "needs_input": 1,
        "failed": 1,
        "unknown": 1,
    }
    assert seen["turnloom_tool_errors_total", name, "UPSTREAM_5XX"] == 1
    assert seen["turnloom_tool_errors_total", name, "TOOL_TIMEOUT"] == 1
    assert seen["turnloom_tool_missing_fields_total", name, "hint"] == 1
    assert seen["turnloom_tool_missing_fields_total", name, "undeclared"] == 1
    assert seen["turnloom_tool_retries_total", name, "UPSTREAM_5XX"] == 1
    assert seen["turnloom_tool_cached_total", name, "memory"] == 1
    assert seen["turnloom_tool_duration_seconds_count", name] == 4
    assert seen["turnloom_tool_duration_seconds_sum", name] == pytest.approx(50.303)
    below = {labels[2]: value for labels, value in seen.items() if labels[0] == "turnloom_tool_duration_seconds_bucket"}
    assert (below["0.005"], below["0.25"], below["0.5"], below["10.0"], below["30.0"], below["+Inf"]) == (
        1,
        1,
        2,
        3,
        3,
        4,
    )


def test_processes_count_together(client: FlaskClient) -> None:
    """Each process adds each count once."""
    here, there = Counts(), Counts()
    for process in (here, there, here):
        process.add("turnloom_tool_retries_total", "sim.flaky", "UPSTREAM_5XX")
        hand_on(process)
    hand_on(here)

    assert scrape(client)["turnloom_tool_retries_total", "sim.flaky", "UPSTREAM_5XX"] == 3


def test_counts_outlive_an_outage(client: FlaskClient, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts made while Redis is down are kept. If Redis loses its data, counting starts from zero."""
    counts().add("turnloom_tool_retries_total", "sim.flaky", "UPSTREAM_5XX")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    settings.cache_clear()
    redis.cache_clear()
    hand_on()
    monkeypatch.setenv("REDIS_URL", redis_url)
    settings.cache_clear()
    redis.cache_clear()

    hand_on()
    kept = scrape(client)
    redis().flushall()
    lost = scrape(client)

    assert kept["turnloom_tool_retries_total", "sim.flaky", "UPSTREAM_5XX"] == 1
    assert ("turnloom_tool_retries_total", "sim.flaky", "UPSTREAM_5XX") not in lost


def test_the_present_state_is_shown(client: FlaskClient) -> None:
    """A scrape shows queue lengths, worker slots, beat and unfinished turns."""
    with statement() as db:
        workers.beat(db, "io@here", ["tools.io", "respond"], 16)
    note_beat(60)
    client.post("/v1/turns", json={"message": "hello"})

    seen = scrape(client)

    assert (seen["turnloom_worker_slots", "tools.io"], seen["turnloom_worker_slots", "plan"]) == (16, 0)
    assert seen["turnloom_beat_alive",] == 1
    assert seen["turnloom_turns", "queued", "interactive"] == 1
    assert seen["turnloom_queue_messages", "tools.cpu"] == 0


def test_metrics_need_no_key_and_name_no_tenant(app: APIFlask, client: FlaskClient) -> None:
    """Prometheus needs no key, and no metric holds text or a tenant's name."""
    client.post("/v1/turns", json={"message": "my secret", "conversation_id": "mine"})

    answer = app.test_client().get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})

    told = answer.get_data(as_text=True)
    assert answer.status_code == 200
    assert {family.name for family in parse_openmetrics(told)} == {
        name.removesuffix("_total") for name in (COUNTED | OBSERVED)
    }
    samples = [line for line in told.splitlines() if not line.startswith("#")]
    assert not any(word in line for line in samples for word in ("secret", "mine", "ours"))


def test_metrics_without_redis(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    """While Redis is down, the metrics that come from Postgres are still shown."""
    with statement() as db:
        workers.beat(db, "io@here", ["tools.io"], 16)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    settings.cache_clear()
    redis.cache_clear()

    seen = scrape(app.test_client())

    slots = dict.fromkeys(QUEUES, 0) | {"tools.io": 16}
    shown = {("turnloom_worker_slots", queue): amount for queue, amount in slots.items()}
    shown |= {("turnloom_dead_letters", kind): 0 for kind in ("step", "turn", "delivery", "callback")}
    shown |= {("turnloom_recent_turns", how): 0 for how in ("ended", "failed")}
    assert seen == shown | {("turnloom_paused_conversations",): 0}


def test_a_tenant_sees_statistics_of_its_own_calls(client: FlaskClient, key: KeyMaker) -> None:
    """Statistics cover the tenant's own calls in the given hours, and need a scope."""
    turn = claim_turn(open_turn(make_tenant("ours")).turn_id)
    assert turn is not None
    record_plan(turn, step("a"))
    with transaction() as db:
        db.execute(text("UPDATE steps SET status = 'succeeded', started_at = now(), finished_at = now()"))

    (mine,) = client.get("/v1/tools/stats").get_json()["items"]
    theirs = client.get("/v1/tools/stats", headers=key(tenant="theirs")).get_json()
    refused = client.get("/v1/tools/stats", headers=key("turns:read"))
    wrong = client.get("/v1/tools/stats?hours=0")

    assert (mine["tool"], mine["calls"], mine["success_rate"]) == ("sim.wait", 1, 1.0)
    assert theirs == {"items": []}
    assert (refused.status_code, wrong.status_code) == (403, 422)
