"""The texts of evidence, in which words are sought that are no figures: names, and short codes."""

from collections.abc import Iterator, Sequence

from turnloom.planner.reply.grounding.labels import stems
from turnloom.planner.reply.grounding.opening_days import OpeningDays, opening_days
from turnloom.planner.reply.grounding.places import Places
from turnloom.planner.reply.grounding.text_facts import TextFact, facts_in
from turnloom.planner.reply.grounding.text_policies import PoliciesOfText, policies_of

_MOST_READ = 200_000
"""Characters of evidence that are searched."""


class SourceTexts:
    """The texts of evidence, one line each."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._told: list[str] = []
        self._left = _MOST_READ
        self._read: tuple[str, str] | None = None
        self._policies: list[PoliciesOfText] | None = None
        self._facts: list[TextFact] | None = None
        self._names: frozenset[str] | None = None

    def add(self, text: str, *, is_result: bool) -> None:
        """Take a text. Only those of results state policies."""
        if self._left > 0:
            line = text[: self._left].replace("\n", " ")
            self._texts.append(line)
            self._told += [line] if is_result else []
            self._left -= len(text)
            self._read = self._policies = self._facts = self._names = None

    @property
    def lines(self) -> str:
        """The texts, one in each line."""
        return self._both()[0]

    def has(self, word: str) -> bool:
        """Return whether a word stands in the texts, in any case."""
        return any(True for _ in whole_words(word.casefold(), self._both()[1]))

    def has_beginning(self, stem: str) -> bool:
        """Return whether a word of the texts begins so, in any case."""
        return any(True for _ in whole_words(stem.casefold(), self._both()[1], is_stem=True))

    @property
    def policies(self) -> Sequence[PoliciesOfText]:
        """The policies of the texts of results."""
        if self._policies is None:
            self._policies = [told for line in self._told if (told := policies_of(line)).found]
        return self._policies

    @property
    def opening_days(self) -> Sequence[OpeningDays]:
        """The weekdays on which the texts of results close something, and the rows of days that they have."""
        return [opening_days(line) for line in self._told]

    def facts(self, places: Places) -> Sequence[TextFact]:
        """Return what the texts of results tell of the things that they name. All evidence must be read by then."""
        if self._facts is None:
            self._facts = [fact for line in self._told for fact in facts_in(line, places)]
        return self._facts

    def names_of(self, places: Places) -> frozenset[str]:
        """Return the stems of the words by which results tell things apart. All evidence must be read by then."""
        if self._names is None:
            self._names = stems(" ".join((*places.named, *places.whole_names)))
        return self._names

    def _both(self) -> tuple[str, str]:
        if self._read is None:
            lines = "\n".join(self._texts)
            self._read = lines, lines.casefold()
        return self._read


def whole_words(word: str, text: str, *, is_stem: bool = False) -> Iterator[int]:
    """Yield where a word begins in a text, as a whole word or, if it is a stem, as the beginning of one."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (text[start - 1 : start].isalnum() or (text[end : end + 1].isalnum() and not is_stem)):
            yield start
        start = text.find(word, end)
