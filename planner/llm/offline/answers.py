"""From passages to an answer: what a passage says if the question wants a duration, a number or a day.

The offline model reads no meaning. It takes the sentence with most words of the question's subject, and from that
sentence the part that looks like an answer to that kind of question.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from turnloom.planner.llm.offline.rules import AnswerRule, Domain
from turnloom.planner.llm.offline.values import Facts

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n{2,}|\n(?=[-*|])")
_WORD = re.compile(r"[^\W_]{4,}")
_STEM = 5
"""Words with the same first letters, this many, count as the same: travels, travelled."""
_FEWEST = 2
"""A sentence must have this many words of the subject, or all of them if there are fewer."""


def answered(question: str, subject: str, domain: Domain, observed: Mapping[str, Any]) -> Facts:
    """Return the facts of an answer in the results: the claims of passages, and whether they agree."""
    kind = next((one for one in domain.answers if one.asks.search(question)), None)
    said = list(_claims(kind, subject, observed)) if kind else []
    if not said:
        return {}
    values = {" ".join(one.claim["value"].casefold().split()) for one in said}
    return {
        "claims": [one.claim for one in said],
        "sources": [{"$from": one.place} for one in said],
        "answer": said[0].sentence,
        "disputed" if len(values) > 1 else "agreed": True,
    }


class _Said(NamedTuple):
    """A document's answer to a question."""

    claim: dict[str, Any]
    place: str
    """Path to the passage."""
    sentence: str
    """The sentence with the answer, and the document's title."""


def _claims(kind: AnswerRule, subject: str, observed: Mapping[str, Any]) -> Iterator[_Said]:
    """Yield one claim for each document with a passage that answers."""
    seen: set[str] = set()
    for place, passage in _passages(observed):
        sentence = _nearest(passage["passage"], kind, _stems(subject))
        if sentence is None or passage["document"] in seen:
            continue
        seen.add(passage["document"])
        found = kind.says.search(sentence)
        assert found
        claim = {"subject": subject, "type": "topic", "attribute": kind.attribute, "value": found[0]}
        yield _Said({**claim, "source": passage["document"]}, place, f"{sentence} ({passage['title']})")


def _passages(observed: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each passage of the results with the path to it. A passage that was cut short is left out."""
    for step, result in observed.items():
        results = result.get("results") if isinstance(result, Mapping) else None
        for number, entry in enumerate(results if isinstance(results, list) else []):
            if isinstance(entry, Mapping) and {"passage", "document", "title"} <= entry.keys():
                yield f"{step}.results[{number}]", entry


def _nearest(passage: str, kind: AnswerRule, wanted: frozenset[str]) -> str | None:
    """Return the sentence with an answer that has most of the wanted words; None if none has enough."""
    sentences = [" ".join(sentence.split()) for sentence in _SENTENCE.split(passage)]
    shared = [(len(wanted & _stems(one)), -place, one) for place, one in enumerate(sentences) if kind.says.search(one)]
    most, _, sentence = max(shared, default=(0, 0, ""))
    return sentence if most >= min(_FEWEST, len(wanted)) else None


def _stems(text: str) -> frozenset[str]:
    return frozenset(found[:_STEM] for found in _WORD.findall(text.casefold()))
