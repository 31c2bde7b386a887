"""Replies are rendered for each channel."""

from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from turnloom.models.contracts.artifact import Artifact
from turnloom.models.contracts.turn import Reply
from turnloom.planner.reply.rendering import DIALECTS, Channel, render, render_reply

_ADAPTER: TypeAdapter[Artifact] = TypeAdapter(Artifact)


def _artifact(kind: str, data: dict[str, Any], title: str = "Rooms") -> Artifact:
    return _ADAPTER.validate_python({"kind": kind, "title": title, "data": data})


TABLE = _artifact(
    "table",
    {"columns": ["Room", "Price", "Refund"], "rows": [["Deluxe *sea*", 937.5, True], ["<Family>", 900.0, None]]},
)
LINK = _artifact("link", {"url": "https://book.example.com/x", "label": "Book A&B"})
TRIP = _artifact(
    "itinerary",
    {"days": [{"date": "2026-12-05", "morning": "Temple", "weather": "Dry"}, {}], "stay": "Inn", "notes": ["Mind."]},
    "Kyoto",
)
COMPARISON = _artifact(
    "comparison", {"criteria": ["price", "view"], "options": [{"name": "A", "price": 1, "view": "sea"}, {"name": "B"}]}
)
FACTS = [{"label": "check_in", "value": "15:00"}, {"label": "wifi", "value": True}]
CARD = _artifact("card", {"subtitle": "The best", "facts": FACTS}, "Inn")


@pytest.mark.parametrize(
    ("artifact", "channel", "text"),
    [
        (TABLE, "plain", "Rooms\nRoom          Price   Refund\nDeluxe *sea*  937.50  ✓\n<Family>      900     -"),
        (
            TABLE,
            "markdown",
            "**Rooms**\n\n| Room | Price | Refund |\n| --- | --- | --- |\n"  # noqa: ISC004 - one text
            "| Deluxe \\*sea\\* | 937.50 | ✓ |\n| &lt;Family&gt; | 900 | - |",
        ),
        (
            TABLE,
            "whatsapp",
            "*Rooms*\n1. *Deluxe *sea** · Price: 937.50 · Refund: ✓\n2. *<Family>* · Price: 900 · Refund: -",
        ),
        (LINK, "plain", "Book A&B: https://book.example.com/x"),
        (LINK, "markdown", "[Book A&amp;B](<https://book.example.com/x>)"),
        (LINK, "slack", "<https://book.example.com/x|Book A&amp;B>"),
        (TRIP, "plain", "Kyoto\n1 · 2026-12-05\n- Morning: Temple\n- Weather: Dry\n2\nInn\nMind."),
        (COMPARISON, "plain", "Rooms\n       A    B\nprice  1    -\nview   sea  -"),
        (CARD, "telegram", "Inn\nThe best\n- Check in: 15:00\n- Wifi: ✓"),
    ],
    ids=lambda value: value if isinstance(value, str) and value in DIALECTS else getattr(value, "kind", ""),
)
def test_artifacts_as_text(artifact: Artifact, channel: Channel, text: str) -> None:
    """Each kind is readable on each channel. Characters that the channel would take for markup are escaped."""
    assert render(artifact, channel) == text


def test_a_link_that_leads_elsewhere_cannot_be_followed() -> None:
    """Only web addresses become links."""
    link = _artifact("link", {"url": "javascript:alert(1)", "label": "Book"})

    assert render(link, "markdown") == "Book: javascript:alert(1)"


def test_a_table_shows_its_preview() -> None:
    """The rest of a long table is counted, not shown."""
    data = {"columns": ["Room"], "rows": [["A"], ["B"], ["C"]], "preview": 2}

    assert render(_artifact("table", data), "telegram") == "Rooms\n1. A\n2. B\n… +1"


@pytest.mark.parametrize("channel", get_args(Channel))
def test_a_reply_fits_the_channel(channel: Channel) -> None:
    """A long reply becomes several messages. None is too long, and nothing is lost."""
    text = "\n".join(f"Line {number} of a long reply, with 🏨 in it." for number in range(400))

    messages = render_reply(Reply(text=text, artifacts=[LINK]), channel)

    limit = DIALECTS[channel].limit
    assert all(len(message.encode("utf-16-le")) // 2 <= (limit or 10**6) for message in messages)
    assert (len(messages) == 1) == (limit is None)
    assert "".join(messages).count("Line ") == 400
    assert "book.example.com" in messages[-1]
