"""Shapes of what is drawn: a plan's steps with their states and times, whatever they were read from."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A step in a picture. Times are milliseconds since the picture's beginning; None: not yet, or not known."""

    id: str
    tool: str
    needs: Sequence[str] = ()
    """Ids of steps. What is no step of the picture is left out."""
    status: str = "succeeded"
    ready_ms: float | None = None
    """When it could have started."""
    start_ms: float | None = None
    end_ms: float | None = None
    worker: str = ""

    @property
    def duration_ms(self) -> float | None:
        """The time that it took; None while that is not known."""
        return None if self.start_ms is None or self.end_ms is None else self.end_ms - self.start_ms


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Work beside the steps that has a row of its own in the time line, such as planning."""

    label: str
    since_ms: float
    """From when on it was waited for."""
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Picture:
    """A plan to be drawn. It has a time line if it has spans, or a step has a start."""

    title: str
    caption: str
    steps: Sequence[DrawnStep]
    spans: Sequence[TimeSpan] = ()
    until_ms: float = 0.0
    """The end of the time line: now, or the end of all work."""


def in_words(ms: float) -> str:
    """Return a duration, such as `861 ms`, `12.4 s` or `25 min`."""
    if ms < 10_000:
        return f"{ms:,.0f} ms"
    return f"{ms / 1_000:,.1f} s" if ms < 600_000 else f"{ms / 60_000:,.0f} min"
