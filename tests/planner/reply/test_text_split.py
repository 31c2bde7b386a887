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
