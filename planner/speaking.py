"""Speak while a text is written: hand on whole sentences, each after its check.

The first one that fails is held back, and all after it: what has been handed on is never unsaid by this text.
"""

import re

from planner.context import PlanningContext
from planner.grounding import Evidence, check, gather
from planner.llm.protocol import OnDelta

LONGEST_REPLY = 50_000
"""Characters that a reply may have."""
_CLOSING = "\"'\u2019\u201d)]»"
_SENTENCE = re.compile(rf"(?:(?<![\d\s])(?<!\b\w)\.|[!?…])[{re.escape(_CLOSING)}]*\s+|[。\uff01\uff1f]\s*|\n+")
"""Where a sentence ends. Not after a digit or a single letter and a full stop, as in dates and initials."""


class Sentences:
    """Takes the pieces of a text, hands on its sentences."""

    def __init__(self, evidence: Evidence | None, on_delta: OnDelta) -> None:
        """Without evidence nothing is checked."""
        self._evidence = evidence
        self._on_delta = on_delta
        self._waiting = ""
        self._is_held = False

    def __call__(self, piece: str) -> None:
        if self._is_held or len(self._waiting) > LONGEST_REPLY:
            return
        # An end that is whole by now has been seen: only one that the last piece left open may begin before this one.
        start = max(0, len(self._waiting.rstrip(_CLOSING)) - 1)
        self._waiting += piece
        ends = [match.end() for match in _SENTENCE.finditer(self._waiting, start)]
        if ends:
            self._release(ends[-1])

    def finish(self) -> None:
        """Hand on what is left: the text is whole."""
        self._release(len(self._waiting))

    def _release(self, end: int) -> None:
        sentences, self._waiting = self._waiting[:end], self._waiting[end:]
        if self._evidence is not None:
            self._is_held = self._is_held or bool(check(sentences, self._evidence).violations)
        if sentences and not self._is_held:
            self._on_delta(sentences)


def direct_sentences(context: PlanningContext, on_delta: OnDelta) -> Sentences:
    """Return what a direct answer is spoken through."""
    if context.agent.grounding == "results" and not context.memory:
        return Sentences(None, on_delta)
    return Sentences(gather(context, context.done, context.memory), on_delta)
