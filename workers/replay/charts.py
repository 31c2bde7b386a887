"""The charts of a report's page, as SVG that takes its colours from the page. Pure.

Bars and two histograms over each other are less code than what a chart library must be told, so that its charts follow
the reader's colour scheme, load nothing and are the same bytes each time.
"""

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from turnloom.models.contracts.replay import FigureChange, ReplayReport

_WIDTH = 360
_ROW, _LABELS, _BARS = 24, 84, 180
_TOP, _PLOT, _FOOT, _SIDE = 18, 130, 22, 6


def outcome_bar(report: ReplayReport) -> Markup:
    """Return one bar, divided by how turns went."""
    begin, parts = 0.0, []
    for outcome, count in report.outcomes.items():
        width = 100 * count / max(report.turns, 1)
        parts.append(_rect(f"fill-{outcome}", begin, 0, width, 10, f"{outcome}: {count:,}"))
        begin += width
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in report.outcomes.items())
    return Markup(
        '<svg class="outcomes" role="img" viewBox="0 0 100 10" preserveAspectRatio="none">'
        "<title>How the turns went</title><desc>{}</desc>{}</svg>"
    ).format(told, Markup("").join(parts))


def aspect_bars(report: ReplayReport) -> Markup:
    """Return the share of turns that differ in each aspect."""
    shares = [(each.aspect, each.turns, each.turns / max(report.turns, 1)) for each in report.aspects]
    largest = max((share for _, _, share in shares), default=0.0) or 1.0
    rows = []
    for number, (aspect, turns, share) in enumerate(shares):
        y = number * _ROW
        width = _BARS * share / largest
        rows.append(_text(_LABELS - 8, y + 16, aspect, "end"))
        rows.append(_rect("fill-different", _LABELS, y + 5, width, 14, f"{aspect}: {turns:,} turns"))
        rows.append(_text(_LABELS + width + 6, y + 16, f"{turns:,} · {share:.1%}" if turns else "0", "start"))
    told = ", ".join(f"{aspect} {turns:,}" for aspect, turns, _ in shares)
    return _chart(len(shares) * _ROW, "Turns that differ, by aspect", told, rows)


def histogram(figure: FigureChange, name: str, form: str) -> Markup:
    """Return the distributions before and after, over each other.

    `form`: how to write a value, such as `{:,.0f} ms`.
    """
    most = max(*figure.before.bins, *figure.after.bins)
    width = (_WIDTH - 2 * _SIDE) / len(figure.bounds)
    bottom = _TOP + _PLOT
    heights = {
        side: [_PLOT * count / most for count in spread.bins]
        for side, spread in (("before", figure.before), ("after", figure.after))
    }
    bars = [
        _rect("fill-before", _SIDE + place * width + 0.5, bottom - height, width - 1, height, None)
        for place, height in enumerate(heights["before"])
    ]
    parts = [
        *bars,
        _outline(heights["after"], width, bottom),
        *_sensitive(figure, form, width),
        Markup('<path class="axis" d="M{} {} H{}"/>').format(_SIDE, bottom, _WIDTH - _SIDE),
        _text(_SIDE, _TOP - 6, f"{most:,} turns", "start"),
        *_ticks(figure.bounds, form, width, bottom),
    ]
    told = f"Before: half within {form.format(figure.before.p50)}, 95 % within {form.format(figure.before.p95)}. "
    told += f"After: half within {form.format(figure.after.p50)}, 95 % within {form.format(figure.after.p95)}."
    return _chart(bottom + _FOOT, f"Distribution of {name}, before and after", told, parts)


def _outline(heights: Sequence[float], width: float, bottom: float) -> Markup:
    steps = "".join(f"V{bottom - height:.1f} h{width:.2f} " for height in heights)
    return Markup('<path class="after" d="M{} {} {}V{} Z"/>').format(_SIDE, bottom, steps, bottom)


def _sensitive(figure: FigureChange, form: str, width: float) -> list[Markup]:
    """Return for each bin an area that says on hover what it holds."""
    ends = [*(f"{form.format(low)} to {form.format(high)}" for low, high in pairwise(figure.bounds)), ""]
    ends[-1] = f"{form.format(figure.bounds[-1])} and more"
    return [
        _rect("unseen", _SIDE + place * width, _TOP, width, _PLOT, f"{end}: before {was:,}, after {now:,} turns")
        for place, (end, was, now) in enumerate(zip(ends, figure.before.bins, figure.after.bins, strict=True))
    ]


def _ticks(bounds: Sequence[float], form: str, width: float, bottom: float) -> list[Markup]:
    middle = len(bounds) // 2
    places = [(0, "start"), *([(middle, "middle")] if 0 < middle < len(bounds) - 2 else [])]
    ticks = [_text(_SIDE + place * width, bottom + 16, form.format(bounds[place]), at) for place, at in places]
    return [*ticks, _text(_WIDTH - _SIDE, bottom + 16, f"≥ {form.format(bounds[-1])}", "end")]


def _chart(height: float, title: str, told: str, parts: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="chart" role="img" viewBox="0 0 {} {:.0f}"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(_WIDTH, height, title, told, Markup("").join(parts))


def _rect(of: str, x: float, y: float, width: float, height: float, told: str | None) -> Markup:
    title = Markup("<title>{}</title>").format(told) if told else Markup("")
    return Markup('<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}">{}</rect>').format(
        of, x, y, width, height, title
    )


def _text(x: float, y: float, said: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, said)
