"""Figures of several rounds as spreads, tables and targets."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """The results of several rounds of one measurement."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of at least one value."""
        return cls(min(values), statistics.median(values), max(values))

    def __str__(self) -> str:
        if self.low == self.high:
            return _figure(self.median)
        return f"{_figure(self.median)} ({_figure(self.low)}-{_figure(self.high)})"


Row = Mapping[str, str | int | Spread]


@dataclass(frozen=True)
class Table:
    """The result of a benchmark: rows with the same columns, and its targets."""

    title: str
    rows: Sequence[Row]
    note: str = ""
    targets: Sequence[Row] = ()

    def markdown(self) -> str:
        """Return the table as a page shows it: median (lowest-highest)."""
        parts = [f"### {self.title}", _markdown(self.rows), self.note, _markdown(self.targets)]
        return "\n\n".join(part for part in parts if part) + "\n"


def at_most(limit: float, what: str, measured: Spread) -> Row:
    """Return the row of a target that is reached if the median is not above the limit."""
    return _target(f"≤ {limit:g}", what, measured, reached=measured.median <= limit)


def at_least(limit: float, what: str, measured: Spread) -> Row:
    """Return the row of a target that is reached if the median is not below the limit."""
    return _target(f"≥ {limit:g}", what, measured, reached=measured.median >= limit)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _target(wanted: str, what: str, measured: Spread, *, reached: bool) -> Row:
    return {"target": what, "wanted": wanted, "measured": measured, "reached": "yes" if reached else "**no**"}


def _markdown(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"
