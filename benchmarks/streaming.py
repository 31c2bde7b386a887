"""Measure how early tools start while a slow language model still writes a plan of twenty reads.

The model is a local server that writes one plan at a steady pace and notes how far it is. The figures are the share of
the plan that is written when the first tool starts, and the wall time of the whole turn. The latter is compared with
what planning without streaming would take: the time of writing, plus that of the same plan when it is posted.
"""

import json
import time
from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx2
from werkzeug.wrappers import Request, Response

from benchmarks.figures import Row, Spread, Table, at_most
from benchmarks.language_model import stack_with_model
from benchmarks.progress import progress
from benchmarks.shapes import Shape
from turnloom.workers.embedded.stack import Stack

_CHAINS, _LENGTH, _STEP_MS = 4, 5, 200
_PIECE = 12
_WANTED = 0.15


def run(_: Stack, short: bool) -> Table:
    """Run the plan several times, alternately streamed and posted, on a stack that uses the slow model."""
    writing_s, rounds = (2.0, 2) if short else (4.0, 5)
    shape = _shape()
    measured: list[tuple[float, float, float]] = []
    model = _SlowModel(json.dumps({"thought": "", "action": None, "reply": None, **shape.plan}), writing_s)
    with stack_with_model(model) as api:
        _turn(api)
        for number in range(rounds):
            posted = _turn(api, plan=shape.plan)
            streamed = _turn(api)
            first = min(datetime.fromisoformat(step["started_at"]) for step in streamed["steps"])
            unstreamed_ms = model.writing_s * 1000 + posted["timings"]["total_ms"]
            measured.append((model.written_at(first), streamed["timings"]["total_ms"], unstreamed_ms))
            progress(f"{number + 1} of {rounds}: {measured[-1][0]:.3f} of the plan was written")
    shares = Spread.of([share for share, _, _ in measured])
    return Table(
        "streaming: a plan of 20 reads while it is written",
        [_row(writing_s, shares, measured)],
        targets=[at_most(_WANTED, "share of the plan written when the first tool starts", shares)],
    )


class _SlowModel:
    """A model that writes one plan steadily to requests for a plan, and a short reply to all others."""

    def __init__(self, plan: str, writing_s: float) -> None:
        self._pieces = [plan[start : start + _PIECE] for start in range(0, len(plan), _PIECE)]
        self._pause_s = writing_s / len(self._pieces)
        self._written: list[float] = []

    @property
    def writing_s(self) -> float:
        """The seconds that it took to write the last plan."""
        return self._written[-1] - self._written[0]

    def written_at(self, moment: datetime) -> float:
        """Return the share of the last plan that was written at this moment."""
        return bisect_right(self._written, moment.timestamp()) / len(self._pieces)

    def __call__(self, environ: Any, start_response: Any) -> Any:
        body = json.loads(Request(environ).data or b"{}")
        texts = self._write() if "response_format" in body else iter(["Done."])
        return Response(_chunks(texts), mimetype="text/event-stream")(environ, start_response)

    def _write(self) -> Iterator[str]:
        self._written = []
        began = time.monotonic()
        for number, piece in enumerate(self._pieces, 1):
            self._written.append(time.time())
            yield piece
            time.sleep(max(0.0, began + number * self._pause_s - time.monotonic()))


def _chunks(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield f"data: {json.dumps({'choices': [{'delta': {'content': text}, 'finish_reason': None}]})}\n\n"
    yield f"data: {json.dumps({'choices': [{'delta': {}, 'finish_reason': 'stop'}]})}\n\ndata: [DONE]\n\n"


def _shape() -> Shape:
    """Return chains side by side, written level by level."""
    steps = [(chain, place) for place in range(_LENGTH) for chain in range(_CHAINS)]
    needs = {f"s{chain}_{place}": [f"s{chain}_{place - 1}"] if place else [] for chain, place in steps}
    return Shape(needs, dict.fromkeys(needs, _STEP_MS))


def _turn(api: httpx2.Client, **request: Any) -> dict[str, Any]:
    answer = api.post("/v1/turns", params={"wait": 30}, json={"message": "go", "agent": "generic", **request})
    turn: dict[str, Any] = answer.json()
    if answer.status_code != httpx2.codes.OK or turn["status"] != "succeeded":
        raise RuntimeError(f"the turn did not succeed: {answer.text[:600]}")
    return turn


def _row(writing_s: float, shares: Spread, measured: list[tuple[float, float, float]]) -> Row:
    return {
        "the model writes for": f"{writing_s:.0f} s",
        "written when the first tool starts": shares,
        "turn ms, streamed": Spread.of([streamed for _, streamed, _ in measured]),
        "turn ms, not streamed": Spread.of([unstreamed for _, _, unstreamed in measured]),
        "streamed ÷ not": Spread.of([streamed / unstreamed for _, streamed, unstreamed in measured]),
    }
