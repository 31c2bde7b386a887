"""Draw the plan of a turn as SVG: calls from left to right, each after those that it waits for.

In: the steps of one side of a report.  Out: markup that takes its colours from the page. Pure.
"""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from turnloom.models.contracts.replay import ReportedStep
from turnloom.planner.picture.layers import layers_of
from turnloom.planner.plan.graph import transitive_closure, transitive_reduction

_MOST_STEPS = 60
_LONGEST = 28
_CHARACTER, _PADDING, _HEIGHT, _PITCH, _GAP, _MARGIN = 7.9, 10, 28, 40, 44, 4

Needs = Mapping[str, set[str]]
Places = Mapping[str, tuple[float, float]]
"""The left end of the box of each step and waypoint, at half its height."""


def draw(steps: Sequence[ReportedStep], title: str, signs: Mapping[str, str]) -> Markup:
    """Return the drawing of the first steps.

    Args:
        steps: at least one.
        title: what it shows, for those who do not see it.
        signs: mark of a step -> the sign before its tool's name.
    """
    shown = steps[:_MOST_STEPS]
    ids = {step.id for step in shown}
    needs = transitive_reduction({step.id: ids.intersection(step.needs) for step in shown})
    names = {step.id: _name(step, signs) for step in shown}
    width = _CHARACTER * max(map(len, names.values())) + 2 * _PADDING
    lines = _with_waypoints(needs)
    columns = layers_of(lines)
    places = _places(columns, width)
    size = (
        2 * _MARGIN + len(columns) * (width + _GAP) - _GAP,
        2 * _MARGIN + _PITCH * max(map(len, columns)) - (_PITCH - _HEIGHT),
    )
    edges = [
        _edge(places[need], places[point], width, is_step=point in names)
        for point, direct in lines.items()
        for need in sorted(direct)
    ]
    boxes = [_box(step, names[step.id], places[step.id], width) for step in shown]
    return Markup(
        '<svg class="plan" role="img" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">'
        "<title>{2}</title><desc>{3}</desc>{4}</svg>"
    ).format(*size, title, _told(shown, needs), Markup("").join([*edges, *boxes]))


def _name(step: ReportedStep, signs: Mapping[str, str]) -> str:
    name = step.tool or "(not recorded)"
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return f"{signs.get(step.mark, '')}{short}{'' if step.status == 'succeeded' else ' ✗'}"


def _with_waypoints(needs: Needs) -> Needs:
    """Return needs that reach from one column to the next, through a waypoint in each column between two steps.

    A step's column is its distance from the start. The lines from a step share its waypoints.
    """
    depth: dict[str, int] = {}
    for step in transitive_closure(needs):
        depth[step] = max((depth[need] + 1 for need in needs[step]), default=0)
    lines: dict[str, set[str]] = {step: set() for step in needs}
    for step in needs:
        for need in sorted(needs[step]):
            last = need
            for column in range(depth[need] + 1, depth[step]):
                waypoint = f"{need}\0{column}"
                lines[waypoint], last = {last}, waypoint
            lines[step].add(last)
    return lines


def _places(columns: Sequence[Sequence[str]], width: float) -> Places:
    tallest = max(map(len, columns))
    places = {}
    for number, column in enumerate(columns):
        top = _MARGIN + _HEIGHT / 2 + _PITCH * (tallest - len(column)) / 2
        for row, point in enumerate(column):
            places[point] = (_MARGIN + number * (width + _GAP), top + row * _PITCH)
    return places


def _edge(need: tuple[float, float], point: tuple[float, float], width: float, *, is_step: bool) -> Markup:
    """Return the line from one column to the next: with an arrow's head at a step, or on through a waypoint."""
    (from_x, from_y), (x, y) = (need[0] + width, need[1]), point
    bend = (from_x + x) / 2
    curve = f"M{from_x:.1f} {from_y:.1f} C{bend:.1f} {from_y:.1f} {bend:.1f} {y:.1f}"
    if not is_step:
        return Markup('<path class="edge" d="{} {:.1f} {:.1f} h{:.1f}"/>').format(curve, x, y, width)
    head = f"M{x - 7:.1f} {y - 4:.1f} L{x:.1f} {y:.1f} L{x - 7:.1f} {y + 4:.1f} Z"
    line = Markup('<path class="edge" d="{} {:.1f} {:.1f}"/>').format(curve, x - 6, y)
    return line + Markup('<path class="head" d="{}"/>').format(head)


def _box(step: ReportedStep, name: str, place: tuple[float, float], width: float) -> Markup:
    x, y = place
    return Markup(
        '<g class="step {}"><title>{}</title><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="6"/>'
        '<text x="{:.1f}" y="{:.1f}">{}</text></g>'
    ).format(
        step.mark.replace("_", "-"),
        f"{step.id}: {step.tool}, {step.status}",
        x,
        y - _HEIGHT / 2,
        width,
        _HEIGHT,
        x + _PADDING,
        y + 4.5,
        name,
    )


def _told(steps: Sequence[ReportedStep], needs: Needs) -> str:
    """Return the plan in words."""
    tools = {step.id: step.tool or "a call" for step in steps}
    sentences = []
    for step in steps:
        after = ", ".join(tools[need] for need in sorted(needs[step.id]))
        sentences.append(f"{tools[step.id]} after {after}" if after else tools[step.id])
    return "; ".join(sentences)
