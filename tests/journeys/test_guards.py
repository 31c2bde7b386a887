"""On real workers, a tool that a user has not granted is neither planned nor called. A grant works at once."""

import json
import re

import httpx2
import pytest

from tests.journeys.following import finished, post, run
from tests.journeys.speaking import Speaker, says, written

pytestmark = pytest.mark.usefixtures("speaking")

LIST = {"id": "n", "tool": "notifications.list", "args": {"status": "open", "limit": 5}, "needs": []}
WAIT = {"id": "a", "tool": "sim.wait", "args": {"ms": 1, "payload": None}, "needs": []}


def test_a_tool_that_is_not_granted_is_neither_planned_nor_called(asking: httpx2.Client, model: Speaker) -> None:
    """The planner sees that the tool is unavailable. A draft that calls it is refused; a caller's plan fails there."""
    user = {"id": "guarded-noa", "name": "Noa"}

    turn = finished(asking, post(asking, says(written(LIST), written(WAIT)), agent="generic", user=user)["turn_id"])
    submitted = run(asking, [LIST], user=user)
    asking.put(f"/v1/users/{user['id']}", json={"name": "Noa", "scopes": ["notifications.read"]}).raise_for_status()
    granted = run(asking, [LIST], user=user)

    (told,) = {
        text for prompt in model.prompts for text in re.findall(r"<unavailable>\n(.*)\n", prompt) if "notif" in text
    }
    assert json.loads(told)["notifications.list"] == {"code": "SCOPES_MISSING", "scopes": ["notifications.read"]}
    assert [step["tool"] for step in turn["steps"]] == ["sim.wait"]
    assert submitted["steps"][0]["error"]["code"] == "SCOPES_MISSING"
    assert (granted["steps"][0]["status"], granted["steps"][0]["result"]["notifications"]) == ("succeeded", [])
