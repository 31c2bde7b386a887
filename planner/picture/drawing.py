"""Draw a plan as SVG, with the time line of its steps, or as a Mermaid flowchart.

The SVG is an element for a page or a file of its own. It loads nothing, is light or dark as its reader wishes, and says
in titles what is too long for a box. A link that others imply is left out. The longest path by time is thicker.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from turnloom.planner.picture.elements import (
    LETTER,
    LONGEST,
    STATES,
    STYLE,
    fit,
    printable,
    shortened,
    state_of,
    text,
)
from turnloom.planner.picture.layers import GraphLayout, lay_out
from turnloom.planner.picture.shapes import DrawnStep, Picture, in_words
from turnloom.planner.picture.time_line import TimeLine
from turnloom.planner.plan.graph import critical_steps, transitive_reduction

_WIDTH, _BETWEEN, _MARGIN = 860.0, 48.0, 12
_TOP, _BOX_HEIGHT = 54.0, 40.0
_FEWEST_LETTERS, _SIGN_WIDTH = 9, 34
_SIGNS = {
    "queued": "…",
    "running": "▸",
    "waiting_approval": "‖",
    "succeeded": "✓",
    "needs_input": "?",
    "failed": "✕",
    "skipped": "-",
    "cancelled": "-",
    "unknown": "?",
}


def draw(*pictures: Picture) -> str:
    """Return the pictures beside each other, as SVG.

    Raises:
        graphlib.CycleError: the needs of a plan form a cycle.
    """
    lines, left, height = [], 0.0, 0.0
    for picture in pictures:
        drawing = _Drawing(picture)
        lines += [f"<g transform='translate({left:.1f} 0)'>", *drawing.lines(), "</g>"]
        left, height = left + drawing.width + _BETWEEN, max(height, drawing.height)
    width, height = max(left - _BETWEEN, 1.0) + 2 * _MARGIN, height + _MARGIN
    size = f"width='{width:.0f}' height='{height:.0f}' viewBox='-{_MARGIN} 0 {width:.0f} {height:.0f}'"
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' class='plan' {size} role='img'>",
            f"<title>{fit('; '.join(f'{picture.title}: {picture.caption}' for picture in pictures))}</title>",
            f"<style>{STYLE}</style>",
            f"<rect class='page' x='-{_MARGIN}' width='{width:.0f}' height='{height:.0f}'/>",
            *lines,
            "</svg>",
            "",
        ]
    )


def mermaid(steps: Sequence[DrawnStep]) -> str:
    """Return the plan as a Mermaid flowchart, top down, each step with its status."""
    names = {step.id: f"s{number}" for number, step in enumerate(steps)}
    lines = ["flowchart TD"]
    lines += [f'  {names[step.id]}["{_quoted(f"{step.id}: {step.tool} ({step.status})")}"]' for step in steps]
    lines += [f"  {names[need]} --> {names[step.id]}" for step in steps for need in step.needs if need in names]
    for state, (colour, _) in STATES.items():
        if those := [names[step.id] for step in steps if step.status == state]:
            lines += [f"  classDef {state} stroke:{colour}", f"  class {','.join(those)} {state}"]
    return "\n".join(lines) + "\n"


class _Drawing:
    """A picture with its measures."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        known = {step.id for step in picture.steps}
        self._needs = transitive_reduction({s.id: [n for n in s.needs if n in known] for s in picture.steps})
        durations = {s.id: s.duration_ms for s in picture.steps if s.duration_ms is not None}
        self._path = critical_steps(self._needs, durations) if durations else ()
        letters = max((len(name) for step in picture.steps for name in (step.id, step.tool)), default=0)
        self._box_width = min(max(letters, _FEWEST_LETTERS), LONGEST) * LETTER + _SIGN_WIDTH
        self._layout = lay_out(self._needs, (self._box_width, _BOX_HEIGHT), _WIDTH)
        self._time_line = TimeLine(picture)
        self._time_top = _TOP + self._layout.height + 12
        self.width = max(self._layout.width, _WIDTH)
        self.height = self._time_top + self._time_line.height

    def lines(self) -> Iterator[str]:
        yield text(0, 18, self._picture.title, "head")
        yield text(0, 38, self._picture.caption, "soft")
        yield f"<g transform='translate({(self.width - self._layout.width) / 2:.1f} {_TOP:.0f})'>"
        yield from self._links()
        for step in self._picture.steps:
            yield self._box(step)
        yield "</g>"
        yield from self._time_line.lines(self._time_top, self.width)

    def _links(self) -> Iterator[str]:
        on_path = {*pairwise(self._path)}
        links = [(need, step) for step, direct in self._needs.items() for need in sorted(direct)]
        for kind, those in (("link", links), ("link hot", [link for link in links if link in on_path])):
            if those:
                ways = " ".join(_way(self._layout, need, step, self._box_width) for need, step in those)
                yield f"<path class='{kind}' d='{ways}'/>"
        if entered := [step for step, direct in self._needs.items() if direct]:
            heads = " ".join(_arrow_head(self._layout, step, self._box_width) for step in entered)
            yield f"<path class='arrow' d='{heads}'/>"

    def _box(self, step: DrawnStep) -> str:
        x, y = self._layout.places[step.id]
        left, top = x - self._box_width / 2, y - _BOX_HEIGHT / 2
        kind = f"{state_of(step.status)}{' hot' if step.id in self._path else ''}"
        size = f"width='{self._box_width:.1f}' height='{_BOX_HEIGHT:.0f}'"
        return (
            f"<g class='{kind}'><title>{fit(_told(step))}</title>"
            f"<rect class='box' x='{left:.1f}' y='{top:.1f}' {size} rx='7'/>"
            f"{text(left + 10, y - 2, shortened(step.id), 'name')}"
            f"{text(left + 10, y + 13, shortened(step.tool), 'tool')}"
            f"{text(left + self._box_width - 9, y - 2, _SIGNS.get(step.status, ''), 'sign')}</g>"
        )


def _told(step: DrawnStep) -> str:
    took = "" if step.duration_ms is None else f", {in_words(step.duration_ms)}"
    return f"{step.id}: {step.tool}, {step.status}{took}{f', {step.worker}' if step.worker else ''}"


def _way(layout: GraphLayout, need: str, step: str, box_width: float) -> str:
    (x1, y1), (x2, y2) = layout.places[need], layout.places[step]
    if layout.goes_down:
        y1, y2 = y1 + _BOX_HEIGHT / 2, y2 - _BOX_HEIGHT / 2 - 6
        bend = (y1 + y2) / 2
        return f"M{x1:.1f} {y1:.1f} C{x1:.1f} {bend:.1f} {x2:.1f} {bend:.1f} {x2:.1f} {y2:.1f}"
    x1, x2 = x1 + box_width / 2, x2 - box_width / 2 - 6
    bend = (x1 + x2) / 2
    return f"M{x1:.1f} {y1:.1f} C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def _arrow_head(layout: GraphLayout, step: str, box_width: float) -> str:
    x, y = layout.places[step]
    if layout.goes_down:
        y -= _BOX_HEIGHT / 2
        return f"M{x - 4:.1f} {y - 7:.1f} L{x:.1f} {y:.1f} L{x + 4:.1f} {y - 7:.1f} Z"
    x -= box_width / 2
    return f"M{x - 7:.1f} {y - 4:.1f} L{x:.1f} {y:.1f} L{x - 7:.1f} {y + 4:.1f} Z"


def _quoted(label: str) -> str:
    """Return a text that cannot break out of a label's quotes, nor be taken for Mermaid's own marks."""
    plain = " ".join(printable(label).split()).replace("&", "&amp;").replace("#", "#35;").replace("`", "#96;")
    return plain.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
