"""Phases and assumptions decide which steps run now, which a wrong assumption undoes, and which plans are refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planner.knowledge.graph_items import entity, fact, graph
from turnloom.models.contracts.plan import Assumption, Plan, implied_needs
from turnloom.models.errors import InvalidPlan
from turnloom.planner.knowledge.graph import Knowledge
from turnloom.planner.plan.phases import affected_by, contradicted, is_later, kept, so_far, steps_now, with_kept
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry, load_registry

REGISTRY: Registry = load_registry(["sim"])
PHASES = [
    {"id": "look", "objective": "Look around", "success_metrics": ["seen"], "steps": ["a", "b"]},
    {"id": "act", "objective": "Act on it", "success_metrics": ["done"], "steps": ["d"]},
]


def _step(name: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "tool": "sim.wait", "args": {"ms": 1}, "needs": list(needs), **more}


def _plan(**more: Any) -> dict[str, Any]:
    """Return a plan. Phase one: a, b (assumes x); phase two: c (assumes y), d needs b, e needs c."""
    return {
        "assumptions": [{"id": "x", "text": "X holds."}, {"id": "y", "text": "Y holds."}],
        "phases": PHASES,
        "current_phase": "look",
        "steps": [
            _step("a"),
            _step("b", assumes=["x"]),
            _step("c", phase="act", assumes=["y"]),
            _step("d", "b"),
            _step("e", "c", phase="act"),
        ],
        **more,
    }


PLAN = Plan.model_validate(_plan())


def test_a_phased_plan_is_valid() -> None:
    """Steps name their phases, or phases name their steps."""
    assert validate(_plan(), REGISTRY) == PLAN


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"current_phase": "later"}, "current_phase"),
        ({"phases": [{**PHASES[0], "steps": ["a", "zz"]}], "steps": [_step("a")]}, "phases[0].steps"),
        ({"steps": [_step("a"), _step("b"), _step("d", phase="zz")]}, "d.phase"),
    ],
)
def test_phases_must_fit_the_steps(change: dict[str, Any], path: str) -> None:
    """An unlisted phase and an unknown step are faults."""
    with pytest.raises(InvalidPlan) as refused:
        validate(_plan(**change), REGISTRY)

    assert ("dangling_phase", path) in [(fault["code"], fault["path"]) for fault in refused.value.faults]


@pytest.mark.parametrize("odd", [5, "x", {}, [[]], [{}], [{"id": [], "steps": 5}], [{"id": {}, "steps": [[], {}]}]])
@pytest.mark.parametrize("place", ["phases", "assumptions", "current_phase"])
def test_odd_phases_are_refused_and_break_nothing(place: str, odd: Any) -> None:
    """Any value in place of phases gives a list of faults."""
    step = _step("a", phase="look", assumes=["x"])
    data = {"steps": [step, {"id": []}], place: odd}

    with pytest.raises(InvalidPlan):
        validate(data, REGISTRY)
    assert is_later(Plan.model_validate({"steps": [step]}).steps[0], data)
    assert with_kept(data, PLAN, {"a", "b"}, {"x": "no"})["steps"]


def test_a_phase_may_list_steps_that_have_run() -> None:
    """A later revision still shows the steps of a phase."""
    before = {step.id: step for step in PLAN.steps[:2]}

    plan = validate(_plan(steps=[_step("d", "b")], current_phase="act"), REGISTRY, before=before)

    assert [step.id for step in plan.steps] == ["d"]


@pytest.mark.parametrize(
    ("wrong", "ran", "affected"),
    [
        (["x"], [], ["b", "d"]),
        (["x"], ["a", "b"], ["d"]),
        (["y"], ["a", "b"], ["c", "e"]),
        (["x", "y"], ["a"], ["b", "c", "d", "e"]),
        (["x"], ["b", "d"], []),
        (["z"], [], []),
        ([], [], []),
    ],
)
def test_a_wrong_assumption_undoes_what_rests_on_it(wrong: list[str], ran: list[str], affected: list[str]) -> None:
    """It also undoes all steps that wait for such a step, even if that one has run. Steps that have run stay."""
    assert affected_by(wrong, PLAN, ran) == affected
    assert {step.id for step in kept(PLAN, ran, wrong)} == set("abcde") - set(affected) - set(ran)


def test_steps_on_a_wrong_result_of_an_earlier_revision_are_undone_too() -> None:
    """A wrong assumption undoes steps that use a result resting on it, however old the result is."""
    first = Plan.model_validate(
        {"assumptions": _plan()["assumptions"], "steps": [_step("old", assumes=["x"]), _step("z")]}
    )
    second = Plan.model_validate({"steps": [_step("new", "old"), _step("free")]})

    plan = so_far([first, second], ran={"old"})

    assert plan is not None
    assert [step.id for step in plan.steps] == ["old", "new", "free"]
    assert affected_by(["x"], plan, {"old"}) == ["new"]
    assert [step.id for step in kept(plan, {"old"}, ["x"])] == ["free"]
    assert so_far([], ran=()) is None


@given(st.data())
def test_kept_steps_rest_on_nothing_that_is_undone(data: st.DataObject) -> None:
    """In any plan, kept steps neither rest on a wrong assumption nor wait for one that does."""
    names = [f"s{n}" for n in range(data.draw(st.integers(1, 8)))]
    steps = [
        _step(
            name,
            *data.draw(st.lists(st.sampled_from(names[:place]), max_size=2, unique=True) if place else st.just([])),
            assumes=data.draw(st.lists(st.sampled_from("xyz"), max_size=2, unique=True)),
        )
        for place, name in enumerate(names)
    ]
    plan = Plan.model_validate({"assumptions": [{"id": one, "text": one} for one in "xyz"], "steps": steps})
    wrong = data.draw(st.sets(st.sampled_from("xyz")))
    ran = data.draw(st.sets(st.sampled_from(names)))

    undone, left = affected_by(wrong, plan, ran), {step.id: step for step in kept(plan, ran, wrong)}

    assert not set(undone) & (left.keys() | ran)
    for step in left.values():
        assert wrong.isdisjoint(step.assumes)
        assert set(undone).isdisjoint(implied_needs(step))


@pytest.mark.parametrize(
    ("change", "started", "now"),
    [
        ({}, (), ["a", "b"]),
        ({}, ("c",), ["a", "b", "c"]),
        ({"current_phase": "act"}, (), ["c", "e"]),
        ({"phases": None, "current_phase": None}, (), ["a", "b", "c", "d", "e"]),
        ({"steps": [_step("a", "d"), _step("d")]}, (), ["a", "d"]),
        ({"steps": [_step("a"), _step("b"), _step("z"), _step("y", "d"), _step("d")]}, (), ["a", "b", "z"]),
    ],
    ids=["first", "started", "second", "none", "blocked", "unphased"],
)
def test_the_current_phase_is_run(change: dict[str, Any], started: tuple[str, ...], now: list[str]) -> None:
    """Later phases wait, and so do the steps that need them. If nothing could run otherwise, everything does."""
    plan = Plan.model_validate(_plan(**change))

    assert [step.id for step in steps_now(plan, started)] == now


def test_a_revision_keeps_what_does_not_rest_on_the_wrong_assumption() -> None:
    """Kept steps stay as they were, with phase and assumption, whatever the language model writes about them."""
    phases = [{"id": "act", "objective": "New"}]
    new = {"steps": [_step("c", "a"), _step("n")], "phases": phases, "current_phase": "act"}

    data = with_kept(new, PLAN, {"a", "b"}, {"x": "no"})
    plan = validate(data, REGISTRY, before={step.id: step for step in PLAN.steps[:2]})

    assert {step.id: step for step in plan.steps} == {
        "n": Plan.model_validate({"steps": [_step("n")]}).steps[0],
        "c": PLAN.steps[2],
        "e": PLAN.steps[4],
    }
    assert [one.id for one in plan.assumptions or []] == ["y"]
    assert [(one.id, one.objective) for one in plan.phases or []] == [("act", "New"), ("look", "Look around")]


def test_without_a_contradiction_a_revision_is_free() -> None:
    """Steps that it does not repeat are dropped."""
    new = {"steps": [_step("n")]}

    assert with_kept(new, PLAN, {"a"}, {}) == new


KYOTO = (entity(), fact(2))


@pytest.mark.parametrize(
    ("known", "assumed", "wrong"),
    [
        (KYOTO, {"subject": "Kyoto", "attribute": "Population", "value": 3}, True),
        (KYOTO, {"subject": "city:kyoto", "attribute": "population", "value": "3"}, True),
        (KYOTO, {"subject": "Kyoto", "attribute": "population", "value": "2.0"}, False),
        (KYOTO, {"subject": "Kyoto", "attribute": "mayor", "value": "Ada"}, False),
        (KYOTO, {"subject": "Nara", "attribute": "population", "value": 3}, False),
        (KYOTO, {}, False),
        ((*KYOTO, fact(4, step="b")), {"subject": "Kyoto", "attribute": "population", "value": 3}, False),
    ],
    ids=["name", "id", "same", "attribute", "entity", "text", "unresolved"],
)
def test_an_assumption_is_contradicted_by_what_is_believed(known: Any, assumed: dict[str, Any], wrong: bool) -> None:
    """If sources disagree and nothing decides between them, nothing is contradicted."""
    found = contradicted([Assumption(id="x", text="…", **assumed)], graph(*known))

    assert list(found) == (["x"] if wrong else [])


def test_nothing_known_contradicts_nothing() -> None:
    """An assumption holds until a result contradicts it."""
    assumption = Assumption(id="x", text="…", subject="Kyoto", attribute="population", value=3)

    assert contradicted([assumption], Knowledge()) == {}
