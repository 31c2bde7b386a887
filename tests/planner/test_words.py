"""Texts are split into words to compare, in any script."""

import pytest

from turnloom.planner.words import words_in


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Which castles?", "castle"),
        ("CAFÉ", "cafe"),
        ("犬を連れて行けますか", "犬は無料です"),
        ("京都の寺", "京都"),
        ("大阪のホテル", "ホテル大阪"),
        ("金阁寺的门票", "金阁寺"),
        ("서울에서", "서울"),
        ("โรงแรมใกล้ทะเล", "โรงแรม"),
        ("שָׁלוֹם", "שלום"),
        ("مُطْعَم", "مطعم"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
    ],
)
def test_texts_that_share_a_word_share_it_in_any_script(one: str, other: str) -> None:
    """Case, accents and the plural's s do not matter, nor do spaces where a script has none."""
    assert set(words_in(one)) & set(words_in(other))


@pytest.mark.parametrize(("one", "other"), [("か", "が"), ("京都", "奈良"), ("a_b", "ab"), ("hotel", "hot")])
def test_unlike_words_are_told_apart(one: str, other: str) -> None:
    """The mark of a voiced sound makes another letter. It is no accent."""
    assert not set(words_in(one)) & set(words_in(other))


def test_short_words_may_be_left_out() -> None:
    """One ideograph is a word, however short."""
    assert list(words_in("a room at 犬", shortest=3)) == ["room", "犬"]
