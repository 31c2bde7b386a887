"""Steps that one worker runs together wait for nothing that they would not have waited for alone."""

from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planner.plan.test_graph import QUEUES, dags
from turnloom.planner.plan.bundles import bundles
from turnloom.planner.plan.expressions import Bundle, Lane, dump_expression, load_expression
from turnloom.planner.plan.graph import Fragment, Node, transitive_closure

LANES, STEPS = 4, 16


KINDS = list(product(QUEUES, ["read", "read", "read", "write"], [False] * 5 + [True], [None, None, None, 100]))
"""Queue, effect, inline and limit of a step, each as often as it is wanted."""


@st.composite
def plans(draw: st.DrawFn) -> list[Node]:
    """Draw random DAGs of reads and other steps, on two queues."""
    needs = draw(dags())
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=len(needs), max_size=len(needs)))
    return [
        Node(step, direct, queue, "sim.wait", effect, inline=inline, limit_ms=limit_ms)
        for (step, direct), (queue, effect, inline, limit_ms) in zip(needs.items(), kinds, strict=True)
    ]


def lanes(fragment: Fragment) -> tuple[Lane, ...]:
    assert isinstance(fragment.expression, Lane | Bundle)
    return (fragment.expression,) if isinstance(fragment.expression, Lane) else fragment.expression.lanes


@given(plans(), st.integers(1, LANES), st.integers(1, STEPS))
@settings(max_examples=300)
def test_bundles_impose_the_order_of_the_plan_and_no_other(plan: list[Node], most_lanes: int, most_steps: int) -> None:
    """A step waits for the needs of its bundle and for its own inside it. Together they are the order of the DAG."""
    compiled = bundles(plan, most_lanes, most_steps)

    needs = {node.id: node.needs for node in plan}
    direct = {
        step: {*fragment.needs, *(need for need in needs[step] if need in fragment.steps)}
        for fragment in compiled
        for step in fragment.steps
    }
    assert transitive_closure(direct) == transitive_closure(needs)


@given(plans(), st.integers(1, LANES), st.integers(1, STEPS))
@settings(max_examples=200)
def test_a_bundle_never_exceeds_its_lanes_and_steps(plan: list[Node], most_lanes: int, most_steps: int) -> None:
    """Every step is in one fragment of bounded size, and each step of a lane needs the one before it."""
    compiled = bundles(plan, most_lanes, most_steps)

    needs = {node.id: node.needs for node in plan}
    assert sorted(step for fragment in compiled for step in fragment.steps) == sorted(needs)
    for fragment in compiled:
        assert len(lanes(fragment)) <= most_lanes
        assert len(fragment.steps) <= most_steps
        assert [step for lane in lanes(fragment) for step in lane.steps] == list(fragment.steps)
        assert all(first in needs[second] for lane in lanes(fragment) for first, second in pairwise(lane.steps))


@given(plans())
@settings(max_examples=200)
def test_only_reads_of_one_queue_ride_together(plan: list[Node]) -> None:
    """A step with an effect or a process of its own is alone. An inline step joins either queue."""
    nodes = {node.id: node for node in plan}
    for fragment in bundles(plan, LANES, STEPS):
        members = [nodes[step] for step in fragment.steps]
        assert len(members) == 1 or all(node.effect == "read" and node.limit_ms is None for node in members)
        assert len({node.queue for node in members if not node.inline}) <= 1
        assert fragment.inline == all(node.inline for node in members)
        assert all(fragment.inline or lane.queue == fragment.queue for lane in lanes(fragment))


@given(plans(), st.data())
@settings(max_examples=100)
def test_steps_under_way_are_needed_and_not_gathered(plan: list[Node], data: st.DataObject) -> None:
    """Pinned steps are in no fragment, and the rest waits for them."""
    pinned = data.draw(st.sets(st.sampled_from([node.id for node in plan])))
    needs = {node.id: set(node.needs) for node in plan}

    compiled = bundles([Node(n.id, () if n.id in pinned else n.needs, n.queue, n.tool) for n in plan], 4, 16, pinned)

    assert sorted(step for fragment in compiled for step in fragment.steps) == sorted(needs.keys() - pinned)
    for fragment in compiled:
        for step in fragment.steps:
            assert (needs[step] & pinned) <= {*fragment.needs, *_implied(fragment, needs)}


def _implied(fragment: Fragment, needs: dict[str, set[str]]) -> set[str]:
    """Return the steps that have ended when the needs of a fragment, and those of its steps, have ended."""
    closure = transitive_closure(needs)
    return set().union(*(closure[need] for need in (*fragment.needs, *fragment.steps)))


@given(plans())
def test_a_bundle_survives_the_ledger(plan: list[Node]) -> None:
    """It is stored as JSON, and reads back as it was."""
    for fragment in bundles(plan, LANES, STEPS):
        assert load_expression(dump_expression(fragment.expression)) == fragment.expression


def test_reads_of_a_plan_with_two_joins_are_one_bundle() -> None:
    """No chord could express them. Each lane goes on as soon as its own needs have ended."""
    plan = [
        Node("a", (), "q", "t"),
        Node("b", (), "q", "t"),
        Node("c", ("a",), "q", "t"),
        Node("d", ("a", "b"), "q", "t"),
    ]

    (fragment,) = bundles(plan, LANES, STEPS)

    assert [lane.steps for lane in lanes(fragment)] == [("a", "c"), ("b", "d")]


def test_steps_after_a_write_wait_for_it_alone() -> None:
    """Reads beside a write go on meanwhile. The steps that need it are gathered behind it."""
    plan = [
        Node("a", (), "q", "t"),
        Node("w", ("a",), "q", "t", "write"),
        Node("b", ("a",), "q", "t"),
        Node("x", ("w",), "q", "t"),
        Node("y", ("x",), "q", "t"),
    ]

    compiled = bundles(plan, LANES, STEPS)

    assert [(fragment.needs, fragment.steps) for fragment in compiled] == [
        *(((), ("a", "b")), (("a",), ("w",)), (("w",), ("x", "y")))
    ]
