"""Draw docs/pictures/turn.svg: the plan of a finished turn, and the time line of its steps.

In: docs/pictures/turn.json, the answer of `GET /v1/turns/{id}`.  Out: the picture; with `--check` exit code 1 if the
picture is not that of this turn. The colours are readable on white and on black; the background is transparent.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

PICTURES = Path(__file__).resolve().parent / "pictures"

_WIDTH = 860
_LEFT, _RIGHT = 110, 150
_NODE_WIDTH, _NODE_HEIGHT = 110, 30
_GRAPH_TOP, _NODE_PITCH = 58, 46
_ROW, _BAR = 30, 16
_TICK_MS = 200
_TEXT, _LINE = "#6e7781", "#7d8590"
_WORKERS = ("#2f81f7", "#d2822a", "#3fa565", "#a371f7")
_FONT = "font-family='ui-sans-serif, system-ui, Helvetica, Arial, sans-serif'"


class Bar(NamedTuple):
    """A row of the time line. Times are milliseconds since the message was accepted."""

    label: str
    waited_from: float
    begin: float
    end: float
    worker: str


def main() -> None:
    """Write the picture, or compare it."""
    picture = PICTURES / "turn.svg"
    drawn = draw(json.loads((PICTURES / "turn.json").read_text("utf-8")))
    if "--check" not in sys.argv:
        picture.write_text(drawn, "utf-8")
    elif not picture.exists() or picture.read_text("utf-8") != drawn:
        sys.exit(f"{picture.name} is out of date: run `make docs`")


def draw(turn: Mapping[str, Any]) -> str:
    """Return the picture of a finished turn."""
    columns = _columns(turn["steps"])
    graph_height = _NODE_PITCH * max(map(len, columns))
    top = _GRAPH_TOP + graph_height + 44
    bars = [*_bars(turn)]
    height = top + _ROW * len(bars) + 34
    workers = dict.fromkeys(step["worker"] for step in turn["steps"])
    colours = {worker.partition("@")[0]: _WORKERS[place % 4] for place, worker in enumerate(sorted(workers))}
    body = [*_head(turn), *_graph(columns, graph_height), *_time_line(bars, top, turn["timings"]["total_ms"], colours)]
    title = f"A turn of {len(turn['steps'])} steps: its plan, and when each step ran"
    size = f"width='{_WIDTH}' height='{height}' viewBox='0 0 {_WIDTH} {height}'"
    opening = f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' {_FONT}>"
    return "\n".join([opening, f"<title>{title}</title>", *body, "</svg>", ""])


def _head(turn: Mapping[str, Any]) -> Iterator[str]:
    times = turn["timings"]
    worked = sum(step["duration_ms"] for step in turn["steps"])
    yield _text(0, 18, "The plan", size=15, weight=600)
    yield _text(
        0,
        37,
        f"{worked:,.0f} ms of work, of which {times['critical_path_ms']:,.0f} ms must follow one another;"
        f" the turn took {times['total_ms']:,.0f} ms from the message to the reply",
    )


def _columns(steps: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the steps by their distance from the start, each column in an order with few crossings."""
    depth: dict[str, int] = {}
    by_id = {step["id"]: step for step in steps}

    def depth_of(name: str) -> int:
        if name not in depth:
            depth[name] = max((depth_of(need) + 1 for need in by_id[name]["needs"]), default=0)
        return depth[name]

    columns: list[list[Mapping[str, Any]]] = [[] for _ in range(max(map(depth_of, by_id)) + 1)]
    for step in steps:
        columns[depth_of(step["id"])].append(step)
    for column, after in reversed([*pairwise(columns)]):
        column.sort(key=lambda step: _middle([n for n, later in enumerate(after) if step["id"] in later["needs"]]))
    for before, column in pairwise(columns):
        column.sort(key=lambda step: _middle([n for n, earlier in enumerate(before) if earlier["id"] in step["needs"]]))
    return columns


def _middle(places: Sequence[int]) -> float:
    return mean(places) if places else 0.0


def _graph(columns: Sequence[Sequence[Mapping[str, Any]]], height: float) -> Iterator[str]:
    gap = (_WIDTH - _LEFT - _RIGHT - _NODE_WIDTH) / max(len(columns) - 1, 1)
    places = {}
    for number, column in enumerate(columns):
        top = _GRAPH_TOP + (height - _NODE_PITCH * len(column)) / 2
        for row, step in enumerate(column):
            places[step["id"]] = (_LEFT + number * gap, top + row * _NODE_PITCH + _NODE_PITCH / 2)
    for step in (step for column in columns for step in column):
        x, y = places[step["id"]]
        for need in step["needs"]:
            from_x, from_y = places[need]
            from_x += _NODE_WIDTH
            bend = (from_x + x) / 2
            line = f"M{from_x:.1f} {from_y:.1f} C{bend:.1f} {from_y:.1f} {bend:.1f} {y:.1f} {x - 6:.1f} {y:.1f}"
            yield f"<path d='{line}' fill='none' stroke='{_LINE}' stroke-width='1.4'/>"
            yield f"<path d='M{x - 7:.1f} {y - 4:.1f} L{x:.1f} {y:.1f} L{x - 7:.1f} {y + 4:.1f} Z' fill='{_LINE}'/>"
        yield (
            f"<rect x='{x:.1f}' y='{y - _NODE_HEIGHT / 2:.1f}' width='{_NODE_WIDTH}' height='{_NODE_HEIGHT}' rx='7'"
            f" fill='{_LINE}' fill-opacity='0.12' stroke='{_LINE}'/>"
        )
        yield _text(x + _NODE_WIDTH / 2, y + 5, step["id"], anchor="middle", size=14)


def _bars(turn: Mapping[str, Any]) -> Iterator[Bar]:
    """Yield the rows from the message to the reply."""
    accepted = datetime.fromisoformat(turn["created_at"])

    def since(moment: str) -> float:
        return (datetime.fromisoformat(moment) - accepted).total_seconds() * 1_000

    times = turn["timings"]
    planned = times["queued_ms"] + times["planning_ms"]
    yield Bar("plan", 0.0, times["queued_ms"], planned, "")
    for step in sorted(turn["steps"], key=lambda step: str(step["started_at"])):
        worker = step["worker"].partition("@")[0]
        begin = since(step["started_at"])
        yield Bar(step["id"], begin - step["queue_ms"], begin, since(step["finished_at"]), worker)
    yield Bar("reply", times["total_ms"], times["total_ms"] - times["responding_ms"], times["total_ms"], "")


def _time_line(bars: Sequence[Bar], top: float, total_ms: float, colours: Mapping[str, str]) -> Iterator[str]:
    scale = (_WIDTH - _LEFT - _RIGHT) / total_ms
    bottom = top + _ROW * len(bars)
    yield _text(0, top - 14, "When it ran", size=15, weight=600)
    for tick in range(0, int(total_ms) + 1, _TICK_MS):
        x = _LEFT + tick * scale
        yield f"<path d='M{x:.1f} {top:.1f} V{bottom:.1f}' stroke='{_LINE}' stroke-opacity='0.3'/>"
        yield _text(x, bottom + 18, f"{tick} ms", anchor="middle")
    for row, bar in enumerate(bars):
        y = top + row * _ROW + (_ROW - _BAR) / 2
        yield _text(_LEFT - 12, y + 13, bar.label, anchor="end", size=14)
        begin, end = _LEFT + bar.begin * scale, _LEFT + bar.end * scale
        if bar.waited_from < bar.begin:
            waited = _LEFT + bar.waited_from * scale
            line = f"M{waited:.1f} {y + _BAR / 2:.1f} H{begin:.1f}"
            yield f"<path d='{line}' stroke='{_LINE}' stroke-width='3' stroke-opacity='0.6'/>"
        yield (
            f"<rect x='{begin:.1f}' y='{y:.1f}' width='{max(end - begin, 2.5):.1f}' height='{_BAR}' rx='3'"
            f" fill='{colours.get(bar.worker, _LINE)}'/>"
        )
        said = f"{bar.end - bar.begin:,.0f} ms {bar.worker}".rstrip()
        yield _text(max(end, begin + 2.5) + 8, y + 13, said)


def _text(x: float, y: float, said: str, *, anchor: str = "start", size: int = 13, weight: int = 400) -> str:
    style = f"text-anchor='{anchor}' font-size='{size}' font-weight='{weight}' fill='{_TEXT}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(said)}</text>"


if __name__ == "__main__":
    main()
