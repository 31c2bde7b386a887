"""A report as one HTML page, which loads nothing and runs no script.

In: a report.  Out: the page. It is well-formed XML too. All texts are escaped; a policy in the page itself forbids
everything but its own style sheet, so that a text that got through could do nothing. Pure.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from turnloom.models.contracts.replay import (
    Aspect,
    FigureChange,
    ReplayedOutcome,
    ReplayReport,
    ReportedStep,
    ReportedTurn,
)
from turnloom.workers.replay.charts import aspect_bars, histogram, outcome_bar
from turnloom.workers.replay.plan_drawing import draw
from turnloom.workers.replay.report_words import UNITS, change_text, verdict_text

_MOST_TURNS = 200
_MOST_CHANGES = 15
_FOLDER = Path(__file__).parent
_MEANINGS: Mapping[ReplayedOutcome, str] = {
    "same": "it does the same",
    "different": "it does something else, or takes more or less",
    "diverged": "it made a call for which there is no recorded result, so the rest of it is not known",
    "failed": "it could not be replayed, or ended without a reply",
}
_VALUES = {"mean": "mean", "p50": "median", "p90": "90 %", "p95": "95 %", "p99": "99 %", "most": "largest"}
_SIGNS = {"was": {"only_here": "\u2212 ", "changed": "≠ "}, "is": {"only_here": "+ ", "changed": "≠ "}}
_FILTERS = [*get_args(Aspect), *(outcome for outcome in get_args(ReplayedOutcome) if outcome in ("diverged", "failed"))]
_FORBIDDEN = dict.fromkeys(
    [*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\ufffd"
)
"""Characters that no HTML page may have."""


class _ShownTurn(NamedTuple):
    """A turn with what the page draws of it."""

    of: ReportedTurn
    aspects: list[Aspect]
    names: list[str]
    """The filters that show it."""
    before: Markup | None
    after: Markup | None


def page(report: ReplayReport) -> str:
    """Return the page. It shows the first 200 turns that did not go the same way, and counts the others."""
    shown = [_shown(turn) for turn in report.listed[:_MOST_TURNS]]
    counts = Counter(name for turn in shown for name in turn.names)
    style = _style()
    noisy = [f"{each.aspect} ({each.noisy:,} turns)" for each in report.aspects if each.noisy]
    return _template().render(
        report=report,
        verdict=verdict_text(report),
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        meanings=_MEANINGS,
        share=lambda count: f"{count / report.turns:.1%}" if report.turns else "",
        outcome_bar=outcome_bar(report),
        aspect_bars=aspect_bars(report),
        noisy=", ".join(noisy),
        changes=report.changes[:_MOST_CHANGES],
        figures=[_figure(figure) for figure in report.figures],
        shown=shown,
        filters=[(name, counts[name]) for name in _FILTERS if counts[name]],
    )


def _shown(turn: ReportedTurn) -> _ShownTurn:
    differing = {each.aspect for each in turn.differences}
    aspects: list[Aspect] = [aspect for aspect in get_args(Aspect) if aspect in differing]
    plans = [_plan(turn.before, "was", "Plan before"), _plan(turn.after, "is", "Plan after")]
    return _ShownTurn(turn, aspects, [*aspects, turn.outcome], *plans)


def _plan(steps: list[ReportedStep], side: str, title: str) -> Markup | None:
    if not steps:
        return None
    return cast("Markup", draw(steps, title, _SIGNS[side]).translate(_FORBIDDEN))


def _figure(figure: FigureChange) -> dict[str, Any]:
    name, form = UNITS[figure.name]
    sides = [(value, getattr(figure.before, value), getattr(figure.after, value)) for value in _VALUES]
    return {
        "name": name[0].upper() + name[1:],
        "turns": figure.turns,
        "chart": histogram(figure, name, form),
        "rows": [
            {
                "value": _VALUES[value],
                "before": form.format(was),
                "after": form.format(now),
                "change": change_text(was, now),
            }
            for value, was, now in sides
        ],
    }


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    return environment.get_template("report.html.j2")


@cache
def _style() -> str:
    """Return the style sheet, with a rule for each filter: it hides the turns that the chosen one does not show."""
    rules = [
        f"main:has(#filter-{name}:checked) .turn:not(.in-{name}) {{ display: none; }}\n"
        for name in dict.fromkeys(_FILTERS)
    ]
    return "".join([(_FOLDER / "report.css").read_text("utf-8"), *rules])


def _clean(value: Any) -> Any:
    return value.translate(_FORBIDDEN) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(name: str) -> Markup:
    """Return a name that may be broken after its dots and underscores."""
    escaped = escape(_clean(name))
    return escaped.replace(".", Markup(".<wbr/>")).replace("_", Markup("_<wbr/>"))
