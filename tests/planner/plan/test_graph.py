"""Fragments impose the DAG's own order, no more and no less."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from turnloom.planner.plan.expressions import Expression, Lane, Parallel, Series, dump_expression, load_expression
from turnloom.planner.plan.graph import (
    Fragment,
    Node,
    critical_path,
    critical_steps,
    fragments,
    transitive_closure,
    transitive_reduction,
)

QUEUES = ("tools.io", "tools.cpu")


@st.composite
def dags(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Draw random DAGs of up to 14 steps, from sparse to dense. A draw takes longer than our code, so it takes few."""
    size, most = draw(st.integers(1, 14)), draw(st.integers(1, 4))
    return {f"s{index}": draw(_needs(index, most)) for index in range(size)}


@cache
def _needs(before: int, most: int) -> st.SearchStrategy[tuple[str, ...]]:
    """Draw up to so many of the steps before one, in any order."""
    steps = [f"s{index}" for index in range(before)]
    return st.sampled_from([chosen for size in range(most + 1) for chosen in permutations(steps, size)])


def nodes(needs: Mapping[str, tuple[str, ...]], queues: tuple[str, ...] = QUEUES[:1]) -> list[Node]:
    return [
        Node(step, direct, queues[index % len(queues)], "sim.wait")
        for index, (step, direct) in enumerate(needs.items())
    ]


def steps_of(expression: Expression) -> list[str]:
    if isinstance(expression, Lane):
        return list(expression.steps)
    return [step for part in expression.parts for step in steps_of(part)]


def constraints(expression: Expression, before: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield for each step all steps that a canvas makes it wait for."""
    if isinstance(expression, Parallel):
        for part in expression.parts:
            yield from constraints(part, before)
    elif isinstance(expression, Series):
        for part in expression.parts:
            yield from constraints(part, before)
            before |= frozenset(steps_of(part))
    else:
        for step in expression.steps:
            yield step, before
            before |= {step}


def induced_order(compiled: list[Fragment]) -> dict[str, set[str]]:
    """Return for each step all steps that must end before it starts, by canvases and ledger joins together."""
    direct = {
        step: set(before)
        for fragment in compiled
        for step, before in constraints(fragment.expression, frozenset(fragment.needs))
    }
    return transitive_closure(direct)


@given(dags(), st.integers(1, 16), st.integers(1, 2))
@settings(max_examples=300)
def test_the_induced_order_is_the_transitive_closure(needs: dict[str, tuple[str, ...]], size: int, queues: int) -> None:
    """Fragments and their joins impose exactly the DAG's order, for any fragment size and any mix of queues."""
    compiled = fragments(nodes(needs, QUEUES[:queues]), size)

    assert induced_order(compiled) == transitive_closure(needs)


@given(dags(), st.integers(1, 16))
@settings(max_examples=200)
def test_every_step_is_in_one_fragment_of_bounded_size(needs: dict[str, tuple[str, ...]], size: int) -> None:
    """No step is lost or doubled, and no fragment exceeds the given size."""
    compiled = fragments(nodes(needs), size)

    listed = [step for fragment in compiled for step in fragment.steps]
    assert sorted(listed) == sorted(needs)
    assert all(
        len(fragment.steps) <= size and steps_of(fragment.expression) == list(fragment.steps) for fragment in compiled
    )


@given(dags(), st.integers(1, 2))
def test_a_lane_stays_on_one_queue(needs: dict[str, tuple[str, ...]], queues: int) -> None:
    """All steps that run in one task need the same queue."""
    queue_of = {node.id: node.queue for node in nodes(needs, QUEUES[:queues])}

    def lanes(expression: Expression) -> Iterator[Lane]:
        if isinstance(expression, Lane):
            yield expression
        else:
            for part in expression.parts:
                yield from lanes(part)

    for fragment in fragments(nodes(needs, QUEUES[:queues]), 16):
        assert all(queue_of[step] == lane.queue for lane in lanes(fragment.expression) for step in lane.steps)


def test_a_diamond_is_one_fragment() -> None:
    """Fan-out and join reduce to a single canvas: lane, group, lane."""
    compiled = fragments(nodes({"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}), 16)

    (fragment,) = compiled
    assert isinstance(fragment.expression, Series)
    assert [type(part) for part in fragment.expression.parts] == [Lane, Parallel, Lane]


def test_inline_steps_stay_out_of_groups() -> None:
    """They need no message of their own. The process that makes them ready runs them; in a lane they ride along."""
    inline = Node("a", (), "tools.io", "sim.echo", inline=True)
    others = [Node("b", (), "tools.io", "sim.wait"), Node("c", ("a", "b"), "tools.io", "sim.wait")]
    follower = Node("b", ("a",), "tools.io", "sim.wait")

    joined = {fragment.steps: fragment.inline for fragment in fragments([inline, *others], 16)}
    riding = [(fragment.steps, fragment.inline) for fragment in fragments([inline, follower], 16)]

    assert joined == {("a",): True, ("b",): False, ("c",): False}
    assert riding == [(("a", "b"), False)]


def test_an_n_is_joined_in_the_ledger() -> None:
    """Step a feeds c and d, b feeds only d. No canvas can express that, so it stays four fragments."""
    compiled = fragments(nodes({"a": (), "b": (), "c": ("a",), "d": ("a", "b")}), 16)

    assert {fragment.steps: fragment.needs for fragment in compiled} == {
        ("a",): (),
        ("b",): (),
        ("c",): ("a",),
        ("d",): ("a", "b"),
    }


def test_a_chain_is_one_lane_named_after_its_first_tool() -> None:
    """Steps that only follow each other need one message, which operators see by name."""
    (fragment,) = fragments(nodes({"a": (), "b": ("a",), "c": ("b",)}), 16)

    assert fragment.expression == Lane(("a", "b", "c"), "tools.io", "sim.wait +2")


def test_a_needless_edge_changes_nothing() -> None:
    """A need that others imply is dropped before the reduction."""
    needs = {"a": (), "b": ("a",), "c": ("a", "b")}

    assert transitive_reduction(needs) == {"a": set(), "b": {"a"}, "c": {"b"}}
    assert len(fragments(nodes(needs), 16)) == 1


@given(dags())
def test_expressions_survive_their_json(needs: dict[str, tuple[str, ...]]) -> None:
    """The ledger stores exactly what was compiled."""
    for fragment in fragments(nodes(needs, QUEUES), 16):
        assert load_expression(dump_expression(fragment.expression)) == fragment.expression


def test_the_critical_path_is_the_longest_by_time() -> None:
    """A single long step outweighs a chain of short ones."""
    needs = {"a": (), "b": ("a",), "c": (), "d": ("b", "c")}

    assert critical_path(needs, {"a": 1, "b": 1, "c": 5, "d": 1}) == 6
    assert critical_steps(needs, {"a": 1, "b": 1, "c": 5, "d": 1}) == ("c", "d")
    assert critical_steps({}, {}) == ()
