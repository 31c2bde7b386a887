"""Flower runs as a process of the embedded stack."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.facts import wait_for
from turnloom.workers.embedded.stack import Stack

WORD = "Zanzibar"
PLAN = {
    "steps": [
        {"id": "first", "tool": "sim.wait", "args": {"ms": 10, "payload": {"for": WORD}}},
        {"id": "second", "tool": "sim.wait", "args": {"ms": 10, "payload": {"for": WORD}}},
        {"id": "third", "tool": "sim.write", "args": {"value": WORD}, "needs": ["first", "second"]},
        {"id": "last", "tool": "sim.burn", "args": {"ms": 1}, "needs": ["third"]},
    ]
}


@pytest.fixture
def flower(stack: Stack) -> Iterator[httpx2.Client]:
    """A client of Flower, when Flower has heard each worker's heartbeat."""
    assert stack.flower_url
    with httpx2.Client(base_url=stack.flower_url, timeout=5) as client:
        wait_for(lambda: client.get("/metrics").text.count("flower_worker_online{") >= 4)
        yield client


def tasks(flower: httpx2.Client) -> list[dict[str, str]]:
    """Return the tasks that Flower knows, by its API."""
    return list(flower.get("/api/tasks").json().values())


def test_flower_shows_tools_and_ids_only(stack: Stack, flower: httpx2.Client):
    """A task has its tool's name. No page shows a message's words, a tool's arguments or a password."""
    headers = {"Authorization": f"Bearer {stack.dev_key}"}
    body = {"message": f"Greetings from {WORD}", "plan": PLAN}
    secrets = [urlsplit(url).password for url in (stack.redis_url, stack.database_url)]

    turn = httpx2.post(f"{stack.url}/v1/turns?wait=8", headers=headers, json=body, timeout=10).json()

    assert turn["status"] == "succeeded"
    expected = {
        ("plan_turn", turn["turn_id"]),
        ("sim.wait", f"{turn['turn_id']} first"),
        ("sim.wait", f"{turn['turn_id']} second"),
        ("sim.write", f"{turn['turn_id']} third"),
        ("sim.burn", f"{turn['turn_id']} last"),
    }
    wait_for(lambda: {(task["name"], task["args"]) for task in tasks(flower)} >= expected)
    addresses = ["/", "/tasks", "/broker", "/api/workers?refresh=1", "/api/tasks", "/metrics"]
    addresses += [f"/task/{task['uuid']}" for task in tasks(flower) if turn["turn_id"] in task["args"]]
    addresses += [f"/worker/{name}" for name in flower.get("/api/workers").json()]
    pages = {address: flower.get(address).text for address in addresses}
    assert [address for address, page in pages.items() for word in (WORD, *secrets) if str(word) in page] == []


def test_flower_counts_each_queue(flower: httpx2.Client):
    """Every queue that a worker takes from is listed with its length."""

    def listed() -> set[str]:
        flower.get("/api/workers?refresh=1")  # a worker that was busy has not reported its queues yet
        return {queue["name"] for queue in flower.get("/api/queues/length").json()["active_queues"]}

    wait_for(lambda: listed() >= {"plan", "respond", "deliver", "maintenance", "tools.io", "tools.cpu"})


def test_flower_changes_nothing(stack: Stack, flower: httpx2.Client):
    """Nobody can stop a worker or send a task through Flower."""
    worker = next(iter(flower.get("/api/workers", params={"refresh": 1}).json()))

    answers = [flower.post(f"/api/worker/shutdown/{worker}"), flower.post("/api/task/send-task/clean_up", json={})]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert flower.get("/api/workers", params={"refresh": 1}).json().keys() >= {worker}
