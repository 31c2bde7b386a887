"""Calls on real workers are counted in the metrics."""

import httpx2
from prometheus_client.parser import text_string_to_metric_families as parse

from tests.facts import wait_for
from tests.journeys.following import run, wait_step


def value(api: httpx2.Client, name: str, **labels: str) -> float:
    """Return the value of a series; 0 if there is none."""
    families = parse(api.get("/metrics", headers={"Authorization": ""}).text)
    samples = [sample for family in families for sample in family.samples]
    return sum(each.value for each in samples if each.name == name and labels.items() <= each.labels.items())


def test_metrics_cover_all_workers(api: httpx2.Client) -> None:
    """Metrics count calls by status, errors, retries and durations of all processes, and show the present state."""
    calls, errors = "turnloom_tool_calls_total", "turnloom_tool_errors_total"
    before = {
        tool: value(api, calls, tool=tool) for tool in ("sim.wait", "sim.fail", "sim.flaky", "sim.burn", "sim.echo")
    }
    conflicts = value(api, errors, tool="sim.fail", code="CONFLICT")
    given_up = value(api, errors, tool="sim.burn", code="TOOL_TIMEOUT")

    run(
        api,
        [
            wait_step("w1"),
            wait_step("w2"),
            {"id": "f", "tool": "sim.fail", "args": {"code": "CONFLICT"}},
            {"id": "r", "tool": "sim.flaky", "args": {"fail_times": 2}},
            {"id": "b", "tool": "sim.burn", "args": {"ms": 60_000}, "timeout_ms": 200},
            {"id": "e", "tool": "sim.echo", "args": {"value": 1}},
        ],
    )

    wait_for(lambda: value(api, calls, tool="sim.wait") >= before["sim.wait"] + 2, within_s=9)
    wait_for(lambda: value(api, errors, tool="sim.burn", code="TOOL_TIMEOUT") > given_up, within_s=9)
    wait_for(lambda: value(api, errors, tool="sim.fail", code="CONFLICT") > conflicts, within_s=9)
    wait_for(lambda: value(api, calls, tool="sim.flaky", status="succeeded") > before["sim.flaky"], within_s=9)
    wait_for(lambda: value(api, calls, tool="sim.echo") > before["sim.echo"], within_s=9)
    assert value(api, "turnloom_tool_retries_total", tool="sim.flaky", code="UPSTREAM_5XX") >= 2
    assert value(api, "turnloom_tool_duration_seconds_count", tool="sim.wait") >= 2
    assert value(api, "turnloom_worker_slots", queue="tools.io") > 0
