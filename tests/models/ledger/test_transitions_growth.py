"""The cost of a commit grows more slowly than the square of a plan's steps, even after a failure or with a cap."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.factories import running_turn, step
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import recovery, steps
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder

pytestmark = pytest.mark.usefixtures("database")

SMALL, LARGE = 40, 160
BEARABLE = 20
"""How much more four times the steps may cost. The square would be 16 times as much, the cube 64."""
HOLDER = Holder("worker/1", 60_000)


def least_s(work: Callable[[], object], rounds: int = 3) -> float:
    taken = []
    for _ in range(rounds):
        before = postgres_s()
        work()
        taken.append(postgres_s() - before)
    return min(taken)


def postgres_s() -> float:
    """Return the CPU seconds of the processes that serve this database. They do not depend on what else runs."""
    with statement() as db:
        serving = db.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()").fetchall()
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for (pid,) in serving) / 1e9


def first_ends(count: int, chained: bool, cap: int | None, failed: bool) -> Callable[[], object]:
    """Return a function that records the end of the first step of another plan at each call. The plans are made now."""
    plan = [step(f"s{n}", *([f"s{n - 1}"] if chained and n else [])) for n in range(count)]
    made = [running_turn(*plan, cap=cap, max_steps=1, conversation_id=f"{count} {n}").id for n in range(4)]
    for turn_id in made:
        with statement() as db:
            steps.claim(db, turn_id, [["s0"]], 1, HOLDER)

    def end() -> None:
        outcome = FinishedStep("s0", 1, "failed", error={"code": "X"}) if failed else FinishedStep("s0", 1, "succeeded")
        with statement() as db:
            steps.advance(db, made.pop(), 1, Handover([outcome]), Capacity("none", 0, mixed=True), HOLDER)

    end()  # the functions are compiled, and their statements planned
    return end


@pytest.mark.parametrize(
    ("chained", "cap", "failed"), [(True, None, True), (False, 6, False)], ids=["a chain fails", "a cap holds back"]
)
def test_the_end_of_a_step(chained: bool, cap: int | None, failed: bool) -> None:
    """Steps that can no longer run, and steps that may go on, are found without comparing all with all."""
    small, large = (least_s(first_ends(count, chained, cap, failed)) for count in (SMALL, LARGE))

    assert large < BEARABLE * small


def test_finding_what_is_lost() -> None:
    """A capped turn whose steps wait for a place costs the sweep little, however many steps there are."""

    def find() -> None:
        with transaction() as db:
            recovery.find_lost(db, timedelta(0), (), 10)

    taken = []
    for count in (SMALL, LARGE):
        turn = running_turn(*(step(f"s{n}") for n in range(count)), cap=6, conversation_id=f"{count}")
        for name in (f"s{n}" for n in range(6)):
            with statement() as db:
                steps.claim(db, turn.id, [[name]], 1, HOLDER)
        taken.append(least_s(find))

    assert taken[1] < BEARABLE * taken[0]
