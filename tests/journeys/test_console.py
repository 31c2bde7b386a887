"""What a page of the console does, over HTTP against the embedded stack: it signs in by itself and looks around."""

import httpx2

from tests.facts import wait_for
from turnloom.workers.embedded.stack import Stack


def test_a_page_signs_in_by_itself_and_finds_its_turn(stack: Stack) -> None:
    """A page on this machine needs no key: it posts a message, finds the turn, draws it, and sees who works."""
    page = {"Origin": stack.url, "Sec-Fetch-Site": "same-origin"}
    with httpx2.Client(base_url=stack.url, headers=page, timeout=30, verify=False) as browser:
        session = browser.post("/v1/console/session", json={}).json()
        browser.headers["X-CSRF-Token"] = session["csrf"]
        plan = {"steps": [{"id": "a", "tool": "sim.echo", "args": {"value": "zanzibar"}}]}
        body = {"message": "how is the weather in Zanzibar?", "plan": plan}
        turn = browser.post("/v1/turns?wait=20", json=body).json()

        found = browser.get("/v1/turns", params={"text": "ZANZIBAR", "tool": "sim.echo", "status": "succeeded"}).json()
        drawn = browser.get(f"/v1/turns/{turn['turn_id']}/graph.svg")
        wait_for(lambda: browser.get("/v1/operations").json()["recent"]["turns"] > 0, within_s=10)
        operations = browser.get("/v1/operations").json()
        signed_out = browser.delete("/v1/console/session")
        after = browser.get("/v1/turns")

    assert (session["tenant"], session["operator"]) == ("development", True)
    assert turn["status"] == "succeeded"
    assert [item["turn_id"] for item in found["items"]] == [turn["turn_id"]]
    assert "a: sim.echo, succeeded" in drawn.text
    assert all(queue["slots"] for queue in operations["queues"])
    assert all(worker["alive"] for worker in operations["workers"])
    assert operations["beat"]
    assert (signed_out.status_code, after.status_code) == (204, 401)
