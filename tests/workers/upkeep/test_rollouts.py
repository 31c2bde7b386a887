"""A rollout whose text does worse is taken back once, and no other."""

from uuid import UUID

import pytest

from tests.factories import claim_turn, make_tenant, open_turn
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.quality import QualityLine
from turnloom.models.contracts.rollout import RolloutRequest, Sides
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import audit, rollouts, turns
from turnloom.models.ledger.turns import Ending
from turnloom.workers.upkeep.rollouts import check_rollouts, why_worse


def line(turns: int, failed: int = 0, checked: int = 0, grounded: int = 0) -> QualityLine:
    """Return how so many turns went."""
    none = dict.fromkeys(QualityLine.model_fields)
    counts = dict.fromkeys(("plans", "tool_calls", "questions", "cost", "unpriced_turns", "up", "down"), 0)
    rates = {"error_rate": failed / turns, "grounded_rate": grounded / checked if checked else None}
    fields = {**none, **counts, **rates, "turns": turns, "failed": failed, "checked": checked, "grounded": grounded}
    return QualityLine.model_validate(fields)


WORSE = [
    (line(20, failed=20), line(20), "failed turns: 20 of 20 with the new text, 0 of 20 with the old one"),
    (line(100, failed=20), line(900, failed=9), "failed turns: 20 of 100"),
    (line(40, checked=30, grounded=10), line(40, checked=30, grounded=30), "ungrounded replies: 20 of 30"),
]
NOT_WORSE = [
    (line(19, failed=19), line(40)),  # too few to tell
    (line(20, failed=3), line(20)),  # chance does this once in nine times
    (line(20, failed=20), line(20, failed=20)),  # as bad as the old one
    (line(100_000, failed=2_000), line(100_000, failed=1_000)),  # sure, but not by much
    (line(20), line(20, failed=20)),  # better
    (line(20, failed=20), None),
    (None, line(20)),
]


@pytest.mark.parametrize(("new", "old", "told"), WORSE)
def test_a_worse_text_is_told(new: QualityLine, old: QualityLine, told: str) -> None:
    """The reason names the rate, with the counts of both texts."""
    assert (why_worse(Sides(new, old), 0.05, 20) or "").startswith(told)


@pytest.mark.parametrize(("new", "old"), NOT_WORSE)
def test_small_samples_and_small_differences_do_not_take_it_back(
    new: QualityLine | None, old: QualityLine | None
) -> None:
    """Neither does chance, nor a text that is as bad as the old one, nor a side without turns."""
    assert why_worse(Sides(new, old), 0.05, 20) is None


def fail(tenant_id: UUID, conversation_id: str, *, failed: bool) -> None:
    """Hold a conversation of one turn, which fails or not."""
    turn = claim_turn(open_turn(tenant_id, conversation_id=conversation_id).turn_id)
    assert turn is not None
    ending = Ending("failed" if failed else "succeeded", Reply(text="done"), {})
    with statement() as db:
        assert turns.finish(db, turn.id, turn.attempt, ending)


def test_it_is_taken_back_once(database: str) -> None:
    """The row tells why. A rollout that does well, and one of another tenant, go on."""
    acme, other = make_tenant(), make_tenant("other")
    asked = RolloutRequest(name="styles/brief", text="x", share=0.5, min_turns=5)
    with transaction() as db:
        worse = rollouts.start(db, acme, asked, "x", "ada").id
        fine = rollouts.start(db, other, asked, "x", "ada").id
        taken = {each.id: each for each in (*rollouts.running(db, acme), *rollouts.running(db, other))}
    for number in range(30):
        fail(acme, f"c{number}", failed=taken[worse].takes(f"c{number}"))
        fail(other, f"c{number}", failed=number % 3 == 0)

    check_rollouts()
    check_rollouts()

    with transaction() as db:
        row = rollouts.get(db, acme, worse)
        assert (row.outcome, row.ended_by) == ("taken_back", "turnloom")
        assert row.reason is not None
        assert row.reason.startswith("failed turns: ")
        assert rollouts.get(db, other, fine).ended_at is None
        assert rollouts.running(db, acme) == []
        assert [record.kind for record in audit.page(db, acme, "", 0, 9)][-1] == "rollout.taken_back"
