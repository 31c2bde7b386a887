"""A moment may be said in every time zone that results name."""

from tests.planner.reply.grounding.replies import refused

MEETING = {"person": {"name": "Priya", "tz": "America/Toronto"}, "start": "2026-11-24T15:00:00+00:00", "length_min": 45}


def test_a_time_may_be_said_where_the_other_person_is() -> None:
    """15:00 in London is 10:00 in Toronto in winter."""
    assert refused("At 3 pm, which is 10 am in Toronto, five hours behind.", MEETING) == []
    assert refused("At 3 pm, which is 9 am in Toronto.", MEETING) == ["9 am"]
    assert refused("Toronto is seven hours behind.", MEETING) == ["seven hours"]
