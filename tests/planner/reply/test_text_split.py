"""A text is split into messages, and nothing that must be read as one is cut."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnloom.planner.reply.text_split import split, units

_WHOLE = [
    "900 ILS",
    "ILS 900",
    "€ 1 200",
    "US$ 1,200.50",
    "900 US dollars",
    "5 December 2026",
    "December 5, 2026",
    "5. Mai 2026",
    "5 de diciembre de 2026",
    "2026-12-05 at 15:00",
    "https://book.example.com/rooms?from=20261205&to=20261207",
    "<https://book.example.com/x|Book the room now>",
]


@pytest.mark.parametrize("expression", _WHOLE)
def test_what_is_read_as_one_is_never_cut(expression: str) -> None:
    """Wherever the limit falls, a price, a date and a link stay in one message."""
    words = "the room with the view of the sea is free for all of you and costs"

    for limit in range(len(expression) + 40, len(expression) + 90):
        parts = list(split(f"{words} {expression} which is what we found and {words}", limit))
        assert len(parts) > 1
        assert sum(expression in part for part in parts) == 1, (limit, parts)


def test_a_row_of_a_table_is_never_cut() -> None:
    """A message ends with a whole row, as long as a row fits into one."""
    rows = [f"{number}. Room {number} · Price: {number * 100} ILS · Sea view: yes" for number in range(1, 40)]

    for limit in range(60, 300, 7):
        lines = [line for part in split("\n".join(rows), limit) for line in part.split("\n")]
        assert lines == rows


@pytest.mark.parametrize(
    "expression",
    [
        f"<https://book.example.com/x|Book the room {'with a view of the sea and ' * 4}breakfast in the garden>",
        "approx. 900 ILS",
        "Rs. 1,200.50",
        "le 5 décembre 2026",
        "٩٠٠ شيكل",
        "10:00 a.m.",
        "+972 50 123 4567",
    ],
)
def test_a_long_or_foreign_expression_is_never_cut(expression: str) -> None:
    """A link's label may be long, digits may be those of any script, and a full stop is not always the end."""
    words = "the room with the view of the sea is free for all of you and costs"

    for limit in range(len(expression) + 40, len(expression) + 90):
        parts = list(split(f"{words} {expression} which is what we found and {words}", limit))
        assert sum(expression in part for part in parts) == 1, (limit, parts)


@pytest.mark.parametrize("expression", ["1,200.50元", "2026年12月5日", "¥1,200", "15:00", "1，200円"])  # noqa: RUF001 - a comma of Chinese
def test_without_spaces_no_figure_is_cut(expression: str) -> None:
    """Chinese and Japanese write none; a text of theirs is cut after a mark, else between two characters."""
    for limit in range(30, 60):
        parts = list(split(f"这个房间可以看到大海{expression}这是我们找到的房间" * 6, limit))
        assert sum(part.count(expression) for part in parts) == 6, (limit, parts)

    parts = list(split("房间可以看到大海。早餐在花园里。请给我们写信。" * 3, 20))
    assert all(part.endswith("。") for part in parts)


def test_a_character_stays_whole() -> None:
    """Neither an entity of Slack nor a joined emoji is cut."""
    for text, whole in (("x" + "&amp;" * 40, "&amp;"), ("x" + "👨\u200d👩\u200d👧" * 20, "👨\u200d👩\u200d👧")):
        parts = [part for limit in range(20, 26) for part in split(text, limit)]
        assert all(part.removeprefix("x").replace(whole, "") == "" for part in parts)


def test_no_part_is_blank() -> None:
    """Providers refuse a message without text."""
    for text in (" " * 50 + "x", "x" + " " * 50 + "y", "\n" * 50 + "x" + "\n" * 50, " " * 50):
        assert all(part.strip() for part in split(text, 10))


def test_a_text_is_cut_between_sentences_if_it_can_be() -> None:
    """A sentence is cut only if it is longer than half a message."""
    parts = list(split("We have one room. It looks out on the sea. Breakfast is in the garden. Write to us.", 50))

    assert parts == ["We have one room. It looks out on the sea.", "Breakfast is in the garden. Write to us."]


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_splitting_loses_no_word(text: str, limit: int) -> None:
    """A text in parts keeps every character except spaces."""
    parts = list(split(text, limit))

    assert all(units(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["900", "ILS", "room", "5", "December", "2026,", "a."]), min_size=1).map(" ".join))
def test_a_text_full_of_numbers_is_still_split(text: str) -> None:
    """If no place leaves the numbers whole, a space is still better than a word cut in two."""
    words = [word for part in split(text, 12) for word in part.split()]

    assert words == re.split(" ", text)
