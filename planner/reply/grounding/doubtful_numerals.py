"""Doubtful numerals: words such as "once" and "sei", which are numbers in one language and no numbers in another."""

from functools import lru_cache

from turnloom.planner.reply.grounding.lexicon import words


def unmistakable(before: str, word: str, after: str) -> str:
    """Return a numeral that no language uses otherwise for one that a word beside it tells to be one, or the word."""
    if word not in _known():
        return word
    numeral, language = _known()[word]
    return numeral if before in language["behind"] or after in language["before"] else word


@lru_cache
def _known() -> dict[str, tuple[str, dict[str, list[str]]]]:
    doubtful = words()["doubtful_numerals"]
    return {word: (numeral, language) for language in doubtful for word, numeral in language["numerals"].items()}
