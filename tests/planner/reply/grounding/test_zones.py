"""A moment may be said in every time zone that results name."""

import pytest

from tests.planner.reply.grounding.replies import refused

MEETING = {"person": {"name": "Priya", "tz": "America/Toronto"}, "start": "2026-11-24T15:00:00+00:00", "length_min": 45}


def test_a_time_may_be_said_where_the_other_person_is() -> None:
    """15:00 in London is 10:00 in Toronto in winter."""
    assert refused("At 3 pm, which is 10 am in Toronto, five hours behind.", MEETING) == []
    assert refused("At 3 pm, which is 9 am in Toronto.", MEETING) == ["9 am"]
    assert refused("Toronto is seven hours behind.", MEETING) == ["seven hours"]


@pytest.mark.parametrize("city", ["Istanbul", "İstanbul", "ISTANBUL"])
def test_a_city_is_known_however_it_is_written(city: str) -> None:
    """In Turkish the first letter has a dot, and is another one in lower case."""
    meeting = {"start": "2026-11-24T14:30:00+01:00", "tz": "Europe/Berlin"}

    assert refused(f"It is at 16:30 in {city}.", meeting) == []
    assert refused(f"It is at 17:30 in {city}.", meeting) != []
