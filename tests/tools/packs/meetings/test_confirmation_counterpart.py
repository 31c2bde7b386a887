"""The counterpart learns of a proposal and may confirm it herself."""

import pytest

from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import data, events
from tests.tools.packs.meetings.conftest import Ask
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import notifications

pytestmark = pytest.mark.usefixtures("people")

WITH_DAVID = {"counterpart": "David", "duration_mins": 30}


def test_the_counterpart_is_told_and_may_confirm_from_her_own_conversation(ask: Ask) -> None:
    """She sees the times in her zone. Her choice is in both calendars, and the one who proposed is notified."""
    ask("schedule", **WITH_DAVID)
    with transaction() as db:
        (proposed,) = notifications.listed(db, TENANT, "david", "open", 10)

    meeting = data(ask("confirm", "david", conversation="his own", selection_number=2))

    assert proposed.kind == "meeting.proposed"
    assert "2. Mon 23 Nov 2026, 09:00-09:30 (Europe/London)" in proposed.body
    assert (meeting["counterpart"], meeting["start"]) == ("Noa Levi", "2026-11-23T09:00:00+00:00")
    assert events("noa") == events("david") == [(meeting["uid"], "confirmed")]
    with transaction() as db:
        (told,) = notifications.listed(db, TENANT, "noa", "open", 10)
        assert notifications.listed(db, TENANT, "david", "open", 10) == []
    assert told.title == "David Cohen meets you"


def test_several_proposals_to_one_person_are_told_apart_by_name(ask: Ask) -> None:
    """Without a name she is asked whose times are meant. A stranger's session stays closed to her."""
    ask("schedule", **WITH_DAVID)
    ask("schedule", "mia", **WITH_DAVID)
    choice = {"conversation": "his own", "selection_number": 1}

    asked = ask("confirm", "david", **choice)
    meeting = data(ask("confirm", "david", **choice, counterpart="Mia"))

    assert asked.needs == {"counterpart": ["Mia Rossi", "Noa Levi"]}
    assert meeting["counterpart"] == "Mia Rossi"


def test_new_times_replace_the_notification_of_earlier_ones(ask: Ask) -> None:
    """Only the newest proposal is open, and the same call made again tells nobody twice."""
    for _ in range(2):
        ask("schedule", key="k1", **WITH_DAVID)
    ask("schedule", **WITH_DAVID, start_window="2026-11-25")

    with transaction() as db:
        told = notifications.listed(db, TENANT, "david", None, 10)
    assert [each.resolution for each in told] == ["replaced", None]
