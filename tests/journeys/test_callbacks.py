"""A caller who names an address gets the final turn there, and need not ask for it."""

from typing import Any

import httpx2

from tests.conftest import ALLOWED_HOST
from tests.facts import wait_for
from tests.workers.calling_back import receiver


def test_the_final_turn_comes_to_the_caller(api: httpx2.Client) -> None:
    """The receiver gets what the API shows, signed. The trace says that it was delivered."""
    with receiver(ALLOWED_HOST) as there:
        steps = [{"id": "a", "tool": "sim.echo", "args": {"value": 7}}]
        asked = {"message": "call me back", "plan": {"steps": steps}, "callback_url": there.url}
        turn_id = api.post("/v1/turns", json=asked).json()["turn_id"]

        wait_for(lambda: there.got)

    def callback() -> dict[str, Any]:
        found: dict[str, Any] = api.get(f"/v1/turns/{turn_id}/trace.json").json()["callback"]
        return found

    wait_for(lambda: callback()["status"] == "delivered")
    headers, _ = there.got[0]
    assert there.document() == api.get(f"/v1/turns/{turn_id}").json()
    assert there.document()["status"] == "succeeded"
    assert (headers["webhook-id"], headers["webhook-signature"][:3]) == (turn_id, "v1,")
    assert (callback()["attempts"], callback()["answer"], callback()["error"]) == (1, 204, None)
