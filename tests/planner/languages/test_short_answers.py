"""Short answers are understood however they are written, and nothing else is taken for one."""

import pytest

from turnloom.models.contracts.override import Override, Overrides
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.languages.catalogues import load_languages
from turnloom.planner.languages.short_answers import answers_in, number_in, plain
from turnloom.planner.tenant_texts import tailor

LANGUAGES = load_languages(ROOT / "prompts" / "languages")


@pytest.mark.parametrize(
    ("said", "means"),
    [
        *(("Yes!", "yes"), ("OK.", "yes"), ("yes, please", "yes"), ("👍🏽", "yes"), ("✅", "yes")),
        *(("No", "no"), ("don't", "no"), ("don\u2019t!", "no"), ("👎", "no")),
        *(("Sí", "yes"), ("si", "yes"), ("¡Sí!", "yes"), ("no, gracias", "no")),
        *(("Ja", "yes"), ("Nein", "no"), ("nö", "no"), ("d\u2019accord", "yes"), ("Non merci", "no")),
        *(("כן", "yes"), ("לֹא", "no"), ("נעם", None), ("نعم", "yes"), ("لا", "no")),
        *(("はい。", "yes"), ("ハイ", None), ("いいえ", "no"), ("\uff59\uff45\uff53", "yes")),
        *(("sì", "yes"), ("nee", "no"), ("sim", "yes"), ("não", "no")),
        *(("yes, but at noon", None), ("yesterday", None), ("?", None), ("", None), ("no" * 21, None)),
    ],
)
def test_words_for_yes_and_no_are_understood(said: str, means: str | None) -> None:
    """In each of the languages, whatever the person's own is."""
    assert LANGUAGES.meaning(said) == means


@pytest.mark.parametrize(
    ("said", "number"),
    [
        *((" 1 ", 1), ("2.", 2), ("#3", 3), ("(4)", 4), ("\uff11", 1), ("٢", 2), ("1️⃣", 1), ("①", 1), ("12", 12)),
        *(("1.5", None), ("1 or 2", None), ("one", None), ("", None), ("1234", None), ("9" * 50, None)),
    ],
)
def test_a_number_is_read_in_the_digits_of_any_script(said: str, number: int | None) -> None:
    """A longer one is a number of something else."""
    assert number_in(said) == number


@pytest.mark.parametrize("tag", sorted(LANGUAGES.catalogues))
def test_every_language_has_words_and_none_means_both(tag: str) -> None:
    """The buttons' own words are among them."""
    words = {meaning: set(answers_in(LANGUAGES.get(tag).answers(meaning))) for meaning in ("yes", "no")}
    everywhere = {word for word in words["yes"] | words["no"] if LANGUAGES.meaning(word) is None}

    assert min(map(len, words.values())) > 2
    assert everywhere == set()
    for meaning, said in words.items():
        assert plain(LANGUAGES.get(tag).messages.get(meaning, meaning)) in said


def test_a_tenant_has_words_of_its_own() -> None:
    """In the place of those of a language."""
    own = tailor(Overrides({"languages/en": Override("yes_words: aye, roger\n", "file")}))

    assert own.refused == {}
    assert [own.languages.meaning(said) for said in ("Aye", "yep", "yes", "nope")] == ["yes", None, "yes", "no"]
