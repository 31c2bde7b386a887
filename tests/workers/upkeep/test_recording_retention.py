"""Recordings are removed when they are older than the setting says."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from tests.factories import make_tenant
from tests.models.ledger.recorded import claimed, count, finish, finished, made, read, texts
from turnloom.models.runtime.settings import settings
from turnloom.workers.upkeep.recording_retention import prune_recordings

pytestmark = pytest.mark.usefixtures("database")


def test_old_recordings_go_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each conversation those of old turns, unless one of its turns is in work. What the calls cost stays."""
    monkeypatch.setattr(settings(), "record_days", 30)
    tenant_id = make_tenant()
    with time_machine.travel(datetime.now(UTC) - timedelta(days=31)):
        old = [finished(tenant_id, made("hello"), conversation_id=f"c{number}") for number in range(3)]
    young = finished(tenant_id, made("hello"), conversation_id="c1")
    in_work = claimed(tenant_id, conversation_id="c2")

    prune_recordings()

    assert [len(read(turn)) for turn in (*old, young)] == [0, 0, 1, 1]
    assert count("llm_calls") == 4
    finish(in_work)
    prune_recordings()
    assert read(old[2]) == []
    assert texts() == [("", "schema"), ("", "system"), ("c1", "assistant"), ("c1", "user")]
