"""A page that follows a turn stays usable, however fast its events come."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.speaking import post_plan
from tests.facts import wait_for
from tests.journeys.following import wait_step
from tests.journeys.stacks import environment_of
from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import announce
from turnloom.models.ledger import events
from turnloom.workers.embedded.stack import Stack

STEPS = 40
BURST = 20
"""Events that are announced together: as many as come within a tenth of a second, at 200 a second."""
COUNT_REDRAWS = """() => {
  window.redraws = 0;
  const count = (changes) => { window.redraws += changes.length; };
  new MutationObserver(count).observe(document.querySelector(".turn .status"), { childList: true });
}"""
"""A script that counts how often the line above a reply is written, in `redraws`. Each event of a flood changes it."""


class Flood:
    """Events of a turn that come one upon the other, until somebody has seen enough."""

    def __init__(self, turn_id: str) -> None:
        self._turn_id = UUID(turn_id)
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.told = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let them come while the block runs; then say which step starts last."""
        self._thread.start()
        try:
            yield
        finally:
            self._enough.set()
            self._thread.join()
        self._tell([("step.started", "s0", "sim.last")])

    def _run(self) -> None:
        while not self._enough.is_set():
            numbers = range(self.told, self.told + BURST)
            self._tell([(f"step.{('started', 'finished')[n % 2]}", f"s{n // 2 % STEPS}", "sim.wait") for n in numbers])

    def _tell(self, happened: list[tuple[str, str, str]]) -> None:
        """Record events as the lifecycle does, and announce them together."""
        recorded = []
        with statement() as db, db.transaction():
            for kind, step, tool in happened:
                data = {"step": step, "tool": tool, "status": "succeeded", "attempt": 1}
                recorded += events.note(db, self._turn_id, kind, data)
        announce(self._turn_id, recorded)
        self.told += len(recorded)


def test_events_are_drawn_together(stack: Stack, api: httpx2.Client, open_console: Callable[[str], Page]) -> None:
    """Hundreds of events change the page a few times for each hundred, and a click is answered between them."""
    gate = {"id": "gate", "tool": "sim.approve", "args": {"value": 1}}
    place, turn_id = post_plan(api, [gate, *(wait_step(f"s{number}", "gate") for number in range(STEPS))])
    page = open_console(place)
    status = page.locator(".turn .status")
    expect(status).to_contain_text("waits for approval")
    page.locator(".node").nth(STEPS).wait_for(state="attached")
    page.evaluate(COUNT_REDRAWS)
    flood = Flood(turn_id)
    with environment_of(stack), flood.running():
        wait_for(lambda: flood.told >= 10 * BURST, 60)
        page.locator(".timeline button.name", has_text="s7").click()
        expect(page.locator(".details h3")).to_contain_text("s7")
        wait_for(lambda: flood.told >= 25 * BURST, 60)
    expect(status).to_contain_text("sim.last")

    assert 0 < page.evaluate("() => window.redraws") < flood.told / 4
    api.post(f"/v1/turns/{turn_id}/cancel")
