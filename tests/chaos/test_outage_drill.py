"""The backend of a write is down for seconds. We ask it about the write until it answers. The write happens once."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.disturbances import kill_worker, stop_postgres
from tests.chaos.drills import Ground, drilled_stack, look, post_until_accepted
from tests.facts import wait_for
from tests.installing import ship_packs
from tests.journeys.following import FINAL, kinds, sim_lines, wait_step

ROOT = Path(__file__).resolve().parents[2]
PACKS = Path(__file__).with_name("packs")
WITHIN_S = 60

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("outages")
    ship_packs(folder, PACKS)
    environment = {"PYTHONPATH": f"{folder}:{ROOT}", "TURNLOOM_PACKS": '["sim", "shop"]'}
    with drilled_stack(folder, **environment) as ground:
        yield ground


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder of a shop that is closed."""
    (tmp_path / "orders").touch()
    (tmp_path / "closed").touch()
    return tmp_path


def order(ground: Ground, shop: Path, **request: Any) -> str:
    """Order something in the middle of a plan. Wait until the call is parked, and return the turn."""
    args = {"shop": str(shop), "is_heard": request.pop("is_heard", False)}
    steps = [wait_step("a"), {"id": "e", "tool": "shop.order", "args": args, "needs": ["a"]}, wait_step("b", "e")]
    turn_id = post_until_accepted(ground.api, message_id=str(shop), plan={"steps": steps}, **request)
    wait_for(lambda: (step := ordered(ground, turn_id))["status"] == "pending" and step["attempt"], 20)
    return turn_id


def ordered(ground: Ground, turn_id: str) -> dict[str, Any]:
    """Return the step that orders, as it stands."""
    found: dict[str, Any] = next(
        (step for step in look(ground.api, turn_id).get("steps", ()) if step["id"] == "e"), {"status": None}
    )
    return found


def ended(ground: Ground, turn_id: str) -> dict[str, Any]:
    wait_for(lambda: look(ground.api, turn_id).get("status") in FINAL, WITHIN_S)
    return look(ground.api, turn_id)


def has_died(ground: Ground) -> bool:
    return not ground.crash_at.read_text()


@pytest.mark.parametrize("is_heard", [False, True])
def test_a_write_waits_for_its_backend(is_heard: bool, ground: Ground, shop: Path) -> None:
    """The order is made once, whether or not the shop took it before the outage, and the next steps follow."""
    turn_id = order(ground, shop, is_heard=is_heard)
    wait_for(lambda: ordered(ground, turn_id)["attempt"] >= 2, 20)
    (shop / "closed").unlink()

    turn = ended(ground, turn_id)

    assert [step["status"] for step in turn["steps"]] == ["succeeded"] * 3
    assert len((shop / "orders").read_text().split()) == 1
    assert "step.retry" in kinds(ground.api, turn_id)


@pytest.mark.parametrize(
    "points", ["step.delayed", "step.delayed turn.reclaimed", "write.returned step.delayed", "write.claimed"]
)
def test_a_process_dies_while_a_write_waits_for_its_backend(points: str, ground: Ground, shop: Path) -> None:
    """The shop took the order before the outage. It is asked about it all the same, and the order is not repeated."""
    ground.crash_at.write_text("".join(f"{point}\n" for point in points.split()))
    turn_id = order(ground, shop, is_heard=True)
    wait_for(lambda: has_died(ground), WITHIN_S)
    (shop / "closed").unlink()

    turn = ended(ground, turn_id)

    assert [step["status"] for step in turn["steps"]] == ["succeeded"] * 3
    assert len((shop / "orders").read_text().split()) == 1


def test_workers_that_die_meanwhile_lose_nothing(ground: Ground, shop: Path) -> None:
    """No process holds a parked step."""
    turn_id = order(ground, shop, is_heard=True)
    for seed in range(4):
        kill_worker(ground, random.Random(seed))
    (shop / "closed").unlink()

    assert [step["status"] for step in ended(ground, turn_id)["steps"]] == ["succeeded"] * 3
    assert len((shop / "orders").read_text().split()) == 1


def test_a_backend_that_stays_away_leaves_the_write_unknown_at_the_deadline(ground: Ground, shop: Path) -> None:
    """The turn ends with a reply."""
    turn_id = order(ground, shop, deadline_ms=9_000)

    turn = ended(ground, turn_id)

    assert [step["status"] for step in turn["steps"]] == ["succeeded", "unknown", "skipped"]
    assert turn["timings"]["total_ms"] > 5_000
    assert turn["reply"]["text"]


def test_a_turn_that_is_cancelled_meanwhile_leaves_the_write_unknown(ground: Ground, shop: Path) -> None:
    """The write may have happened, so it is not called cancelled."""
    turn_id = order(ground, shop, is_heard=True)

    ground.api.post(f"/v1/turns/{turn_id}/cancel")

    turn = ended(ground, turn_id)
    assert (turn["status"], turn["steps"][1]["status"]) == ("cancelled", "unknown")


def test_a_write_whose_backend_is_the_ledger_waits_for_it(ground: Ground) -> None:
    """Postgres is down while the tool writes. The write is made when Postgres is back."""
    steps = [{"id": "e", "tool": "sim.write", "args": {"value": 1, "ms": 1_000}}]
    turn_id = post_until_accepted(ground.api, message_id="ledger", plan={"steps": steps})
    wait_for(lambda: ("S", "e") in sim_lines(ground.log, turn_id))

    stop_postgres(ground, random.Random(1))

    turn = ended(ground, turn_id)
    assert (turn["status"], turn["steps"][0]["status"]) == ("succeeded", "succeeded")
    with ground.admin() as db:
        assert db.execute("SELECT count(*) FROM sim_writes WHERE turn_id = %s", [turn_id]).fetchone() == (1,)
