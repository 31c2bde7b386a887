"""Measure what a planning call's prompt costs: its tokens for "Hi", and the share that a provider may cache.

The offline model plans, and its endpoint keeps what it is sent. A conversation of twenty turns with each agent shows
the share: what a prompt has in common with the one before it, in whole blocks, as providers cache it. The first turn
follows on the first turn of another conversation.

Tokens are counted without a vocabulary, which would have to be downloaded: a word up to ten letters is one, as are
three digits and four signs. For the prompts of these agents this is within three percent of the vocabulary o200k.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle, islice, pairwise
from statistics import fmean
from typing import Any

import httpx2

from benchmarks.figures import Row, Spread, Table, at_least, at_most
from benchmarks.language_model import stack_with_model
from benchmarks.progress import progress
from turnloom.models.runtime.settings import settings
from turnloom.planner.llm.offline.server import create_app
from turnloom.workers.embedded.stack import Stack

_TURNS, _TURNS_SHORT = 20, 4
_BLOCK = 128
"""Tokens that are cached together."""
_FEWEST = 1_024
"""A shorter prompt is not cached."""
_CACHEABLE = 0.8
_TRIP = (
    "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights",
    "make it 3 days",
    "What about Osaka instead?",
    "only the weather please",
    "add hotels under 20000",
)
_WISHES = {
    "assistant": (
        "Schedule 30 minutes with David Katz",
        "Option 2",
        "Any notifications?",
        "Resolve the first one",
        "Arrange a meeting with Maya next Tuesday",
    ),
    "generic": _TRIP,
    "hotel": (
        "A room next weekend for 2 adults and a child of 5",
        "Make it 3 adults, under 900 ILS",
        "What is the difference between those two?",
        "Is there parking?",
        "Two nights from Friday instead",
    ),
    "research": (
        "How long does the crossing to Sandholm take?",
        "How many berths for guests are there?",
        "thanks",
        "Why do zeppelins yodel?",
        "How long does the crossing take in winter?",
    ),
    "travel": _TRIP,
}
_WANTED = {"generic": 6_000, "hotel": 6_000, "research": 3_500, "assistant": 3_500}
_PIECE = re.compile(r"(?P<word>[^\r\n\w]?[^\W\d_]+)|(?P<digits>\d{1,3})|(?P<signs> ?[^\s\w]+|_+)|\s+")


@dataclass(frozen=True)
class _Figure:
    agent: str
    hello: int
    """Tokens of a planning call for "Hi"."""
    schema: int
    """Tokens of its response schema."""
    prompts: Sequence[int]
    """Tokens of the conversation's planning calls."""
    cacheable: float


def run(_: Stack, short: bool) -> Table:
    """Hold a conversation with each agent, on a stack whose language model keeps its requests."""
    model, turns, figures = _Recorded(), _TURNS_SHORT if short else _TURNS, []
    with stack_with_model(model) as api:
        for agent, wishes in _WISHES.items():
            figures.append(_held(api, model.sent, agent, list(islice(cycle(wishes), turns))))
            progress(f"prompts: {agent}, {figures[-1].cacheable:.2f} cacheable")
    by_name = {figure.agent: figure for figure in figures}
    targets = [
        *(at_most(most, f"{name}: tokens", Spread.of([by_name[name].hello])) for name, most in _WANTED.items()),
        at_least(_CACHEABLE, "cacheable, least of all", Spread.of([min(figure.cacheable for figure in figures)])),
    ]
    return Table(f"prompts: planning calls of {_TURNS} turns", [_row(figure) for figure in figures], targets=targets)


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return sum(_tokens_of(match) for match in _PIECE.finditer(text))


def cacheable(before: str, after: str) -> int:
    """Return the tokens of a prompt that a provider can take from the prompt before it."""
    common = next((place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
    shared = tokens(after[:common])
    return shared - shared % _BLOCK if shared >= _FEWEST else 0


def _tokens_of(match: re.Match[str]) -> int:
    length = len(match[0].strip())
    if match["word"]:
        return 1 if length <= 10 else -(-length // 7)
    return -(-len(match[0]) // 4) if match["signs"] else 1


def _held(api: httpx2.Client, sent: list[dict[str, Any]], agent: str, wishes: Sequence[str]) -> _Figure:
    _say(api, agent, f"{agent}-other", "Hi")
    hello = _plan_requests(sent)[-1]
    first = len(sent)
    for wish in wishes:
        _say(api, agent, agent, wish)
    texts = [_text(hello), *map(_text, _plan_requests(sent[first:]))]
    counts = [tokens(text) for text in texts]
    shared = sum(cacheable(before, after) for before, after in pairwise(texts))
    return _Figure(agent, counts[0], tokens(_schema(hello)), counts[1:], shared / sum(counts[1:]))


def _say(api: httpx2.Client, agent: str, conversation: str, message: str) -> None:
    person = {"id": "noa", "timezone": "Asia/Jerusalem", "locale": "en-GB"}
    request = {"message": message, "agent": agent, "conversation_id": conversation, "user": person}
    answer = api.post("/v1/turns", params={"wait": 30}, json=request)
    if answer.status_code != httpx2.codes.OK:
        raise RuntimeError(f"the turn did not end: {answer.text[:600]}")


def _plan_requests(sent: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [body for body in sent if '"steps"' in _schema(body)]


def _text(body: dict[str, Any]) -> str:
    """Return a request as the model reads it: the schema first, then the messages."""
    said = (f"{message['role']}\n{message['content']}" for message in body["messages"])
    return "\n".join([_schema(body), *said])


def _schema(body: dict[str, Any]) -> str:
    asked = body.get("response_format", {}).get("json_schema", {}).get("schema")
    return json.dumps(asked, separators=(",", ":"), ensure_ascii=False) if asked else ""


def _row(figure: _Figure) -> Row:
    return {
        "agent": figure.agent,
        "“Hi”, tokens": figure.hello,
        "of these the schema": figure.schema,
        "planning calls": len(figure.prompts),
        "mean prompt": round(fmean(figure.prompts)),
        "cacheable": Spread.of([figure.cacheable]),
    }


class _Recorded:
    """The offline model, with the requests that it gets."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self._offline = create_app(settings().prompts_dir)

    def __call__(self, environ: Any, start_response: Any) -> Any:
        if environ["REQUEST_METHOD"] == "POST":
            data = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            self.sent.append(json.loads(data))
            environ["wsgi.input"] = BytesIO(data)
        return self._offline(environ, start_response)
