"""Fifty turns want the last room at once. One of them holds it, whichever process dies."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.chaos.disturbances import by_file
from tests.chaos.drills import Ground, drill, drilled_stack, look, post_until_accepted
from tests.facts import wait_for
from tests.journeys.following import FINAL

WANTED = 50
WITHIN_S = 120
MAY = date(datetime.now(UTC).year + 1, 5, 20)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with drilled_stack(tmp_path_factory.mktemp("hotel")) as started:
        yield started


def link_to_the_suite(day: date) -> dict[str, Any]:
    """Return a request for a link to the only suite on this night."""
    stay = {"check_in": str(day), "check_out": str(day + timedelta(days=1))}
    args = {**stay, "room_type_code": "SUI", "board_code": "BB", "rate_code": "ILS"}
    return {"agent": "hotel", "plan": {"steps": [{"id": "link", "tool": "pms.generate_booking_link", "args": args}]}}


def endings(views: list[dict[str, Any]]) -> Counter[str]:
    """Count the links by status or by the code of their error."""
    steps = [step for view in views for step in view["steps"] if step["tool"] == "pms.generate_booking_link"]
    return Counter((step["error"] or {}).get("code", step["status"]) for step in steps)


def holds(ground: Ground, day: date) -> list[tuple[Any, ...]]:
    with ground.admin() as db:
        query = "SELECT conversation_id, expires_at FROM hotel_holds WHERE check_in = %s"
        return db.execute(query, [day]).fetchall()


def ended(ground: Ground, turn_id: str) -> dict[str, Any]:
    wait_for(lambda: look(ground.api, turn_id).get("status") in FINAL, WITHIN_S)
    return look(ground.api, turn_id)


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
def test_fifty_turns_at_once_make_one_hold(ground: Ground) -> None:
    """One turn gets the link. The others learn that the room is gone, and are offered another one."""
    message = f"The link for room SUI, {MAY} to {MAY + timedelta(days=1)}, with breakfast please"
    with ThreadPoolExecutor(16) as pool:
        accepted = pool.map(lambda _: post_until_accepted(ground.api, agent="hotel", message=message), range(WANTED))
        views = [ended(ground, turn_id) for turn_id in list(accepted)]

    assert endings(views) == {"succeeded": 1, "CONFLICT": WANTED - 1}
    (winner,) = (view for view in views if len(view["plans"]) == 1)
    assert [row[0] for row in holds(ground, MAY)] == [winner["conversation_id"]]
    losers = [view for view in views if view is not winner]
    assert {view["reply"]["text"].partition("\n")[0] for view in losers} == {"That room is not free any more."}
    assert {tuple(artifact["kind"] for artifact in view["reply"]["artifacts"]) for view in losers} == {("table",)}


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
def test_fifty_turns_make_one_hold_while_workers_die(ground: Ground) -> None:
    """While workers are killed again and again, no turn is lost, and the hold is neither lost nor given twice."""
    day = MAY + timedelta(days=7)
    killing = by_file("restarts: [{process: worker-*, every_s: [0.3, 1]}]")

    report = drill(ground, [link_to_the_suite(day)] * WANTED, killing, within_s=WITHIN_S)

    report.assert_nothing_lost_or_doubled()
    assert endings(report.views) == {"succeeded": 1, "CONFLICT": WANTED - 1}
    assert len(holds(ground, day)) == 1


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
def test_a_worker_dies_between_the_hold_and_the_answer(ground: Ground) -> None:
    """The next worker finds the hold by its key and returns the same link."""
    day = MAY + timedelta(days=14)
    ground.crash_at.write_text("write.returned\n")
    turn = ended(ground, post_until_accepted(ground.api, **link_to_the_suite(day)))

    assert ground.crash_at.read_text() == ""
    (step,) = turn["steps"]
    assert (turn["status"], step["status"], step["attempt"]) == ("succeeded", "succeeded", 2)
    ((conversation, expires_at),) = holds(ground, day)
    made_at, found_at = expires_at - timedelta(minutes=30), datetime.fromisoformat(step["started_at"])
    assert conversation == turn["conversation_id"]
    assert datetime.fromisoformat(step["result"]["expires_at"]) == expires_at
    assert made_at < found_at
