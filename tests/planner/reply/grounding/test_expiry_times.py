"""When a link or a hold ends is told as the results have it."""

import pytest

from tests.planner.reply.grounding.replies import refused

HELD = {"url": "https://book.example.com/h/7", "expires_at": "2026-11-20T11:00:00Z"}
HOURS = {"checkout": "12:00", "breakfast": "07:00-10:30", "massage": "60 minutes, from 10:30 on"}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The link is valid until 11:00.", "The link is valid until 12:00."),
        ("It is valid for another 90 minutes.", "It is valid for another 60 minutes."),
        ("Der Link gilt bis heute um 11:00 Uhr.", "Der Link gilt bis heute um 12:00 Uhr."),
        ("De link blijft nog 90 minuten geldig.", "De link blijft nog 60 minuten geldig."),
        ("有効期限は本日11時です。", "有効期限は本日12時です。"),
        ("It expires just before noon.", "It expires at noon."),
    ],
)
def test_only_what_ends_then(right: str, wrong: str) -> None:
    """Other times and lengths of the results end nothing. It is half past nine."""
    assert refused(wrong, HELD, HOURS) != []
    assert refused(right, HELD, HOURS) == ([] if "just" not in right else refused("Just before noon.", HELD, HOURS))


def test_nothing_ends() -> None:
    """Where results let nothing end, any time of theirs may be said."""
    assert refused("Breakfast is valid until 10:30.", HOURS) == []
