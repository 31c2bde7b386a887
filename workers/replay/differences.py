"""Words and shapes of differences.

In: values of both sides.  Out: differences, with a sentence each. Long values are cut. Pure.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from turnloom.models.contracts.replay import Aspect, Difference, DifferenceKind
from turnloom.workers.replay.matching import ABSENT, canonical

_LONGEST = 80
"""Most characters of a value in a sentence."""
_LARGEST = 500
"""Most characters of a value beside it."""


def value_difference(aspect: Aspect, subject: str, named: str, was: Any, now: Any, default: Any = ABSENT) -> Difference:
    """Return that a value differs. A side may be `ABSENT`; `default` is what counts in its place."""
    kind: DifferenceKind = "added" if was is ABSENT else "removed" if now is ABSENT else "changed"
    text = f"{named} is {_said(now, default)}, was {_said(was, default)}"
    return Difference(aspect=aspect, kind=kind, subject=subject, text=text, recorded=_kept(was), replayed=_kept(now))


def hidden_difference(aspect: Aspect, subject: str, named: str) -> Difference:
    """Return that a secret value differs, without either value."""
    return Difference(aspect=aspect, subject=subject, text=f"{named} is another one; its values are not shown")


def count_differences(aspect: Aspect, was: Counter[str], now: Counter[str], verb: str) -> Iterator[Difference]:
    """Yield what is there more or less often. `verb`: such as "is called"."""
    for subject in sorted(was.keys() | now.keys()):
        before, after = was[subject], now[subject]
        if before == after:
            continue
        kind: DifferenceKind = "added" if not before else "removed" if not after else _direction(before, after)
        text = f"{subject or 'a tool whose name is not recorded'} {verb} {_times(after)}, was {_times(before)}"
        yield Difference(aspect=aspect, kind=kind, subject=subject, text=text, recorded=before, replayed=after)


def figure_difference(aspect: Aspect, subject: str, was: float, now: float, form: str) -> Difference:
    """Return that a figure went up or down. `form`: how to write it, such as `{:,.0f} ms`."""
    change = f" ({now / was - 1:+.0%})" if was else ""
    text = f"{subject or 'predicted latency'}: {form.format(now)}, was {form.format(was)}{change}"
    kind = _direction(was, now)
    return Difference(aspect=aspect, kind=kind, subject=subject, text=text, recorded=was, replayed=now)


def listed(words: Collection[str]) -> str:
    """Return words as an English list."""
    *first, last = sorted(words)
    return f"{', '.join(first)} and {last}" if first else last


def _direction(was: float, now: float) -> DifferenceKind:
    return "higher" if now > was else "lower"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _said(value: Any, default: Any = ABSENT) -> str:
    if value is ABSENT:
        return "left out" if default in (ABSENT, None) else f"left out, which means {_said(default)}"
    text = canonical(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _kept(value: Any) -> Any:
    if value is ABSENT:
        return None
    text = canonical(value)
    return value if len(text) <= _LARGEST else f"{text[: _LARGEST - 1]}…"
