"""Days are kept for the trend, also those that were missed."""

from datetime import UTC, date, datetime, timedelta

import pytest

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import quality
from turnloom.models.tables.quality import QualityDayRow
from turnloom.workers.upkeep.quality import days_due, keep_quality

TODAY = date(2026, 11, 25)


def test_open_days_are_due(database: str) -> None:
    """At first these are today and the two days before it."""
    assert list(days_due(TODAY)) == [date(2026, 11, day) for day in (23, 24, 25)]


@pytest.mark.parametrize(("age", "due"), [(0, 3), (2, 3), (9, 10), (30, 31), (400, 31)])
def test_missed_days_are_made_up(database: str, age: int, due: int) -> None:
    """The days since the last one that was kept are due, a month at most. It may itself not have been over."""
    acme, last = make_tenant(), TODAY - timedelta(days=age)
    counts = dict.fromkeys(QualityDayRow.__table__.columns.keys()[4:-1], 0)
    with transaction() as db:
        db.add(QualityDayRow(tenant_id=acme, day=last, agent="generic", version="", **counts))

    days = list(days_due(TODAY))

    assert (len(days), days[-1]) == (due, TODAY)
    assert days[0] == max(min(last, TODAY - timedelta(days=2)), TODAY - timedelta(days=30))


def test_all_tenants_days_are_kept(database: str) -> None:
    """Each tenant with turns has its own lines, and the task may run again."""
    tenants = [make_tenant("acme"), make_tenant("other")]
    for tenant_id in (*tenants, tenants[0]):
        turn = claim_turn(open_turn(tenant_id, conversation_id=str(datetime.now(UTC))).turn_id)
        assert turn is not None
        assert finish_turn(turn)

    for _ in range(2):
        keep_quality()

    today = datetime.now(UTC).date()
    with transaction() as db:
        kept = [[line.turns for line in quality.trend(db, each, today)] for each in tenants]
    assert kept == [[2], [1]]
