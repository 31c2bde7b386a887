"""Choices are offered as each channel can show them, and none is lost."""

import json

import pytest

from tests.workers.channels.accounts import account
from tests.workers.channels.test_sending import shown
from turnloom.models.contracts.turn import Question, Reply
from turnloom.planner.reply.text_split import units
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import CHANNELS, ChannelName, Part, ReplyChoice

_ASKED = Reply(text="Which room?", question=Question(fields=["room"], choices={"room": ["Suite", "Single"]}))


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_questions_choices_can_be_tapped(channel: ChannelName) -> None:
    """What comes back is the choice itself; a channel without buttons numbers its choices."""
    (part,) = adapter(channel).render(_ASKED, account(channel))

    written = json.dumps(part)
    if channel == "twilio":
        assert part == {"Body": "Which room?\n1. Suite\n2. Single"}
    else:
        assert written.count("Suite") == 2
        assert shown(part) == "Which room?"


def _many(count: int, length: int = 5) -> list[ReplyChoice]:
    return [ReplyChoice(f"p{number}", f"{number:03}".ljust(length, "x")) for number in range(count)]


@pytest.mark.parametrize(
    ("choices", "kind"),
    [(_many(3), "button"), (_many(4), "list"), (_many(3, 30), "list"), (_many(11), None), (_many(3, 80), None)],
)
def test_whatsapp_shows_choices_as_they_fit(choices: list[ReplyChoice], kind: str | None) -> None:
    """Three short ones are buttons, ten are a list, and what does not fit is numbered."""
    (part,) = adapter("whatsapp").render(Reply(text="Which?"), account("whatsapp"), choices)

    assert part.get("interactive", {}).get("type") == kind
    if kind is None:
        assert shown(part).count("\n") == len(choices)


@pytest.mark.parametrize("title", ["x" * 24, "x" * 25, "\N{BED}" * 12, "\N{BED}" * 13])
def test_whatsapp_says_whether_it_shows_numbers(title: str) -> None:
    """A row's title counts UTF-16 units. One that is too long is a number, by which the choice may be named then."""
    choices = [ReplyChoice(mark, f"{title[:-1]}{mark}") for mark in "abcd"]
    (part,) = adapter("whatsapp").render(Reply(text="Which?"), account("whatsapp"), choices)

    assert adapter("whatsapp").numbers(choices) == (_buttons(part)[0][0] == "1")


def _question(*titles: str) -> Reply:
    return Reply(text="Which?", question=Question(fields=["room"], choices={"room": list(titles)}))


def _buttons(part: Part) -> list[tuple[str, str]]:
    """Return title and payload of each button or row, as the provider gets them."""
    if "reply_markup" in part:
        return [(row[0]["text"], row[0]["callback_data"]) for row in part["reply_markup"]["inline_keyboard"]]
    if "blocks" in part:
        return [(each["text"]["text"], each["value"]) for each in part["blocks"][1]["elements"]]
    action = part.get("interactive", {}).get("action", {})
    replies = [each["reply"] for each in action.get("buttons", [])]
    return [(row["title"], row["id"]) for row in [*replies, *(action.get("sections") or [{"rows": []}])[0]["rows"]]]


_HOSTILE = [
    ["x" * 200, "y" * 200],
    ["א" * 40, "ב" * 40],  # 80 bytes each
    ["א" * 70 + "1", "א" * 70 + "2"],  # alike in their first 64 bytes
    ["🏨" * 13, "🛏" * 13],
    ["🏨" * 11, "🛏" * 11],
    [f"{number:03} nights" for number in range(150)],
    [" ", "", "a\nb", "a  b"],
    ["<b>&amp;*_`|>"],
    ["2", "3"],
]


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("titles", _HOSTILE, ids=range(len(_HOSTILE)))
def test_choices_keep_the_limits_and_none_is_lost(channel: ChannelName, titles: list[str]) -> None:
    """Each choice is a button within the provider's limits, or a numbered line; no button is like another."""
    most, title_units, payload_bytes = {
        "whatsapp": (10, 24, 200),
        "telegram": (100, 60, 64),
        "slack": (25, 75, 2_000),
        "twilio": (0, 0, 0),
    }[channel]

    parts = adapter(channel).render(_question(*titles), account(channel))

    buttons = _buttons(parts[-1])
    assert len(buttons) <= most
    assert all(
        0 < units(title) <= title_units and 0 < len(payload.encode()) <= payload_bytes for title, payload in buttons
    )
    assert len({payload for _, payload in buttons}) == len({title for title, _ in buttons}) == len(buttons)
    written = json.dumps(parts, ensure_ascii=False).replace("\\n", " ")
    said = [" ".join(title.split()) for title in titles if title.strip()]
    escaped = [each.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for each in said]
    assert all(plain in written or marked in written for plain, marked in zip(said, escaped, strict=True))
    if channel == "whatsapp" and parts[-1].get("interactive", {}).get("type") == "button":
        assert len(buttons) <= 3
        assert all(units(title) <= 20 for title, _ in buttons)


def test_choices_that_look_alike_are_numbered_on_whatsapp() -> None:
    """WhatsApp refuses two buttons with one title."""
    alike = [ReplyChoice("a", "Room"), ReplyChoice("b", "Room")]
    (part,) = adapter("whatsapp").render(Reply(text="Which?"), account("whatsapp"), alike)

    assert shown(part) == "Which?\n1. Room\n2. Room"
