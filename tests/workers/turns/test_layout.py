"""One function chooses the layout of a turn's steps."""

import pytest

from tests.planner.plan.test_graph import nodes
from turnloom.planner.plan.expressions import Bundle, Expression, Lane, Parallel, Series
from turnloom.workers.turns.layout import Layout, layout_of

NEEDS: dict[str, tuple[str, ...]] = {"a": (), "b": (), "c": ("a", "b")}
LAYOUTS = [
    ("spread", False, False, Layout("canvases", slots=1, planner_slots=0)),
    ("spread", False, True, Layout("canvases", slots=1, planner_slots=0)),
    ("spread", True, False, Layout("single steps", slots=1, planner_slots=0)),
    ("spread", True, True, Layout("single steps", slots=1, planner_slots=0)),
    ("dense", False, False, Layout("bundles", slots=4, planner_slots=0)),
    ("dense", False, True, Layout("bundles", slots=4, planner_slots=4)),
    ("dense", True, False, Layout("single steps", slots=4, planner_slots=0)),
    ("dense", True, True, Layout("single steps", slots=4, planner_slots=4)),
]
FRAGMENTS: list[tuple[Layout, list[type[Expression]]]] = [
    (layout_of("spread"), [Series]),
    (layout_of("dense"), [Bundle]),
    (layout_of("spread", is_capped=True), [Lane, Lane, Lane]),
    (layout_of("dense", is_capped=True), [Lane, Lane, Lane]),
]


@pytest.mark.parametrize(("placement", "is_capped", "runs_tools", "layout"), LAYOUTS)
def test_the_rule(placement: str, *, is_capped: bool, runs_tools: bool, layout: Layout) -> None:
    """The placement, a cap and the planner's queues alone decide."""
    assert layout_of(placement, is_capped=is_capped, runs_tools=runs_tools) == layout


@pytest.mark.parametrize(("layout", "kinds"), FRAGMENTS)
def test_the_fragments(layout: Layout, kinds: list[type[Expression]]) -> None:
    """Two reads and their join are one canvas, one bundle, or three steps that the ledger sends."""
    made = [fragment.expression for fragment in layout.fragments(nodes(NEEDS))]

    assert [type(expression) for expression in made] == kinds
    assert [isinstance(part, Parallel) for part in getattr(made[0], "parts", ())] in ([], [True, False])
