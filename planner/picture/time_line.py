"""Draw when each step of a plan ran: a row for each, the time that it waited apart from the time that it took."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from turnloom.planner.picture.elements import LETTER, WORKERS, shortened, text
from turnloom.planner.picture.shapes import Picture, in_words

_FEW_ROWS, _ROW, _LOW_ROW, _BAR = 40, 30.0, 18.0, 0.55
_HEAD, _FOOT = 32.0, 34.0
_SAID = 170.0
"""Room on the right for what the bars say."""
_LEAST = 2.5
"""Width of a bar that took no time."""
_MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    since_ms: float | None
    start_ms: float | None
    """None: it has not started."""
    end_ms: float
    said: str
    worker: str = ""
    is_open: bool = False
    """Whether it has not ended."""


class TimeLine:
    """The rows of a picture, in the order in which they started."""

    def __init__(self, picture: Picture) -> None:
        self._rows = sorted(_rows(picture), key=lambda row: math.inf if row.start_ms is None else row.start_ms)
        self._until_ms = max([picture.until_ms, 1.0, *(row.end_ms for row in self._rows)])
        self._pitch = _ROW if len(self._rows) <= _FEW_ROWS else _LOW_ROW

    @property
    def height(self) -> float:
        """Pixels; 0 if nothing has started."""
        return _HEAD + self._pitch * len(self._rows) + _FOOT if self._rows else 0.0

    def lines(self, top: float, width: float) -> Iterator[str]:
        """Yield its elements, from this place on."""
        if not self._rows:
            return
        first = top + _HEAD
        left = max(len(shortened(row.label)) for row in self._rows) * LETTER + 20
        scale = (width - left - _SAID) / self._until_ms
        yield text(0, first - 14, "When it ran", "head")
        yield from self._ticks(left, scale, first)
        names = sorted({row.worker for row in self._rows} - {""})
        colours = {name: f"w{number % len(WORKERS)}" for number, name in enumerate(names)}
        for number, row in enumerate(self._rows):
            middle = first + (number + 0.5) * self._pitch
            yield text(left - 12, middle + 5, shortened(row.label), "label")
            yield from _bar(row, left, scale, middle, self._pitch * _BAR, colours.get(row.worker, "span"))

    def _ticks(self, left: float, scale: float, top: float) -> Iterator[str]:
        bottom = top + self._pitch * len(self._rows)
        tick = _tick_ms(self._until_ms)
        for number in range(int(self._until_ms / tick) + 1):
            x = left + number * tick * scale
            yield f"<path class='tick' d='M{x:.1f} {top:.1f} V{bottom:.1f}'/>"
            yield text(x, bottom + 18, in_words(number * tick), "at")


def _rows(picture: Picture) -> Iterator[_Row]:
    if not picture.spans and all(step.start_ms is None for step in picture.steps):
        return
    for span in picture.spans:
        yield _Row(span.label, span.since_ms, span.start_ms, span.end_ms, in_words(span.end_ms - span.start_ms))
    for step in picture.steps:
        if step.start_ms is None:
            until = picture.until_ms if step.status == "queued" else step.ready_ms or 0.0
            yield _Row(step.id, step.ready_ms, None, until, step.status)
            continue
        end = max(picture.until_ms, step.start_ms) if step.end_ms is None else step.end_ms
        said = f"{in_words(end - step.start_ms)} {step.worker}".rstrip()
        yield _Row(step.id, step.ready_ms, step.start_ms, end, said, step.worker, is_open=step.end_ms is None)


def _bar(row: _Row, left: float, scale: float, middle: float, height: float, colour: str) -> Iterator[str]:
    end = left + row.end_ms * scale
    begin = end if row.start_ms is None else left + row.start_ms * scale
    if row.since_ms is not None and left + row.since_ms * scale < begin:
        yield f"<path class='wait' d='M{left + row.since_ms * scale:.1f} {middle:.1f} H{begin:.1f}'/>"
    if row.start_ms is not None:
        kind = f"{colour} open" if row.is_open else colour
        size = f"width='{max(end - begin, _LEAST):.1f}' height='{height:.1f}'"
        yield f"<rect class='{kind}' x='{begin:.1f}' y='{middle - height / 2:.1f}' {size} rx='3'/>"
    yield text(max(end, begin + _LEAST) + 8, middle + 5, row.said, "soft")


def _tick_ms(until_ms: float) -> float:
    """Return a round distance between two ticks."""
    rough = until_ms / _MOST_TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    return next(size * times for times in (1, 2, 5, 10) if size * times >= rough)
