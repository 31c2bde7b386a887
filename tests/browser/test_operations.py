"""Operators see how the deployment stands, without reloading."""

import re
from collections.abc import Callable

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.conftest import EITHER, Look
from tests.journeys.following import run, wait_step
from turnloom.workers.embedded.stack import Stack


@EITHER
def test_the_deployment_is_seen_at_work(api: httpx2.Client, open_console: Callable[[str], Page], look: Look) -> None:
    """Queues, workers and tools are listed; what happens while somebody looks is drawn."""
    run(api, [wait_step("a"), {"id": "bad", "tool": "sim.fail", "args": {"code": "NOT_FOUND"}}])
    page = open_console("#/operations")
    charts = page.locator(".chart")
    expect(charts).to_have_count(3)
    workers = page.get_by_role("region", name="Table: Workers")
    expect(workers).to_contain_text("worker-io-1")
    expect(page.get_by_role("region", name="Table: Queues")).to_contain_text("tools.io")
    tools = page.get_by_role("region", name="Table: Tools")
    failing = tools.locator("tr", has_text="sim.fail")
    expect(failing).to_contain_text("NOT_FOUND")
    told = page.get_by_role("status").filter(has_text="as of")
    before = failing.inner_text()
    first = told.inner_text()
    run(api, [{"id": "bad", "tool": "sim.fail", "args": {"code": "NOT_FOUND"}}])

    expect(told).not_to_have_text(first)
    expect(failing).not_to_have_text(before, use_inner_text=True)
    assert "turns a minute" in (charts.first.get_attribute("aria-label") or "")


def test_quality_is_shown_by_agent_and_by_version(api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """The figures of the last week stand in a table; another grouping is one choice away."""
    run(api, [wait_step("a")])
    page = open_console("#/quality")
    table = page.get_by_role("region", name="Table: quality")
    expect(table.get_by_role("rowheader", name="generic", exact=True)).to_be_visible()
    page.select_option("#by", "version")
    expect(table.get_by_role("rowheader").filter(has_text="agents/generic@").first).to_be_visible()
    page.select_option("#of-agent", "research")

    expect(table.get_by_role("rowheader").filter(has_text="generic")).to_have_count(0)


def test_workers_lead_to_flower(stack: Stack, api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """The deployment says where Flower is: from operations and from a step's worker a link leads there."""
    turn = run(api, [wait_step("a")])
    page = open_console("#/operations")
    workers = page.get_by_role("region", name="Table: Workers")
    link = workers.get_by_role("link", name="worker-io-1")
    address = link.get_attribute("href") or ""
    expect(page.get_by_role("link", name="Flower")).to_have_attribute("href", stack.flower_url or "")
    page.goto(f"/#/turns/{turn['turn_id']}")
    page.locator(".node").click()
    worker = page.locator(".details dd a")

    assert httpx2.get(address).status_code == 200
    assert "worker-io-1@" in httpx2.get(address).text
    expect(worker).to_have_attribute("href", re.compile(r"/worker/worker-[^/]+$"))
