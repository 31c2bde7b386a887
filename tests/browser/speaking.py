"""What people do in the console, and how tests put turns before it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

import httpx2
from playwright.sync_api import Page

from tests.facts import wait_for
from tests.journeys.following import post


def say(page: Page, message: str) -> None:
    """Write a message and send it."""
    page.fill("#message", message)
    page.press("#message", "Enter")


def choose_agent(page: Page, name: str) -> None:
    page.select_option("#agent", name)


def wait_for_end(page: Page, count: int = 1, status: str = "succeeded") -> None:
    """Wait until so many turns have ended like this."""
    page.locator(f".turn[data-status='{status}']").nth(count - 1).wait_for(state="attached")


def post_plan(api: httpx2.Client, steps: Iterable[Mapping[str, Any]], message: str = "go") -> tuple[str, str]:
    """Post a plan; return the hash where the console shows its conversation, and the turn's id."""
    conversation = f"browser-{uuid4()}"
    accepted = post(api, message, plan={"steps": list(steps)}, agent="generic", conversation_id=conversation)
    return f"#/chat/{conversation}", accepted["turn_id"]


def gate(name: str, *needs: str) -> dict[str, Any]:
    """Return a step that waits until a test opens it."""
    return {"id": name, "tool": "sim.approve", "args": {"value": name}, "needs": list(needs)}


def open_gate(api: httpx2.Client, turn_id: str, name: str) -> None:
    """Let the step of a gate be made, once it waits."""
    approve = {"decision": "approve"}
    wait_for(lambda: api.post(f"/v1/turns/{turn_id}/approvals/{name}", json=approve).status_code == 200)


def seen(page: Page) -> dict[str, list[str]]:
    """Return the statuses that each step was drawn with, in order, since `WATCH` was run."""
    found: dict[str, list[str]] = json.loads(page.evaluate("() => JSON.stringify(window.seen)"))
    return found


def drawn(page: Page) -> dict[str, str]:
    """Return the status that each step is drawn with now."""
    read = "nodes => Object.fromEntries(nodes.map(n => [n.dataset.step, n.getAttribute('class').split(' ')[1]]))"
    found: dict[str, str] = page.locator(".node").evaluate_all(read)
    return found
