"""Today is the day where the user is."""

from datetime import UTC, datetime

import pytest
import time_machine

from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.local_time import local_now, timezone_of
from turnloom.models.runtime.settings import settings

EVENING = datetime(2026, 11, 19, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("person", "timezone", "day"),
    [({}, "Asia/Jerusalem", 20), ({"timezone": None}, "Asia/Jerusalem", 20), ({"timezone": "UTC"}, "UTC", 19)],
)
def test_a_persons_own_time_zone_comes_before_the_deployments(person: dict[str, str], timezone: str, day: int) -> None:
    """At half past ten in the evening by UTC it is tomorrow in Jerusalem, the default."""
    with time_machine.travel(EVENING, tick=False):
        now = local_now(person)

    assert timezone_of(person) == timezone
    assert now.day == day


def test_a_deployment_names_its_own_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must be one that exists."""
    monkeypatch.setenv("TURNLOOM_DEFAULT_TIMEZONE", "Europe/Lisbon")
    settings.cache_clear()
    chosen = timezone_of({})
    monkeypatch.setenv("TURNLOOM_DEFAULT_TIMEZONE", "Europe/Atlantis")
    settings.cache_clear()

    assert chosen == "Europe/Lisbon"
    with pytest.raises(Misconfigured, match="TURNLOOM_DEFAULT_TIMEZONE"):
        settings()
