"""Stream a reply sentence by sentence while it is written, each sentence after its check.

The first sentence that fails is held back, and so is everything after it. A sentence that was passed on is never taken
back by the same text.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.llm.protocol import OnDelta
from turnloom.planner.reply.grounding import Evidence, UserWords, Violation, check, gather
from turnloom.planner.reply.grounding.sentences import CLOSING, SENTENCE_END

LONGEST_REPLY = 50_000
"""Most characters of a reply."""


class Sentences:
    """A splitter that collects the pieces of a text and passes on whole sentences."""

    def __init__(self, evidence: Evidence | None, on_delta: OnDelta) -> None:
        """If `evidence` is None, no sentence is checked."""
        self._evidence = evidence
        self._on_delta = on_delta
        self._waiting = ""
        self._is_held = False

    def __call__(self, piece: str) -> None:
        if self._is_held or len(self._waiting) > LONGEST_REPLY:
            return
        # Complete ends have been found already. Only an end that the last piece left open can begin before this piece.
        start = max(0, len(self._waiting.rstrip(CLOSING)) - 1)
        self._waiting += piece
        ends = [match.end() for match in SENTENCE_END.finditer(self._waiting, start)]
        if ends:
            self._release(ends[-1])

    def finish(self) -> None:
        """Pass on the rest. The text is complete."""
        self._release(len(self._waiting))

    def _release(self, end: int) -> None:
        sentences, self._waiting = self._waiting[:end], self._waiting[end:]
        if self._evidence is not None:
            self._is_held = self._is_held or bool(check(sentences, self._evidence).violations)
        if sentences and not self._is_held:
            self._on_delta(sentences)


def without_violations(text: str, violations: Sequence[Violation]) -> str:
    """Return a text without the sentences that must not be said."""
    ends = [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]
    spans = ((bisect_right(ends, found.start), bisect_right(ends, found.end - 1)) for found in violations)
    refused = {number for first, last in spans for number in range(first, last + 1)}
    sentences = enumerate(pairwise([0, *ends]))
    return "".join(text[start:end] for number, (start, end) in sentences if number not in refused).strip()


def direct_sentences(context: PlanningContext, on_delta: OnDelta) -> Sentences:
    """Return the sentence stream of a direct answer.

    Sentences are not checked if the agent checks only replies from results and the context has none.
    """
    if context.agent.grounding == "results" and not (context.memory or context.done):
        return Sentences(None, on_delta)
    said = UserWords(context.message, context.slots, context.user, context.history)
    evidence = gather(context.agent, context.tools, context.now, steps=context.done, memory=context.memory, said=said)
    return Sentences(evidence, on_delta)
