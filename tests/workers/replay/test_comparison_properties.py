"""Whatever the plan, a comparison finds what has changed, and nothing else."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories import REGISTRY
from tests.workers.replay.records import call, turn
from turnloom.models.contracts.replay import StepRecord
from turnloom.workers.replay.comparison import compare

TOOLS = REGISTRY.tools
ARGS = st.dictionaries(
    st.sampled_from(["city", "n", "when"]),
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "Rome", "x<y"]) | st.lists(st.integers(0, 1)),
    max_size=3,
)


@st.composite
def plans(draw: st.DrawFn) -> list[StepRecord]:
    """Return steps that wait for some of those before them."""
    steps: list[StepRecord] = []
    for number in range(draw(st.integers(0, 7))):
        needs = draw(st.lists(st.sampled_from([step.id for step in steps]), unique=True)) if steps else []
        tool = draw(st.sampled_from(["x.find", "y.find", "sim.echo", "sim.write"]))
        steps.append(call(f"s{number}", tool, draw(ARGS), needs))
    return steps


@st.composite
def rearranged(draw: st.DrawFn) -> tuple[list[StepRecord], list[StepRecord]]:
    """Return steps, and the same steps with other ids in another order."""
    steps = draw(plans())
    names = {step.id: f"other{place}" for place, step in enumerate(draw(st.permutations(steps)))}
    same: list[dict[str, Any]] = [
        step.model_dump() | {"id": names[step.id], "needs": draw(st.permutations([names[n] for n in step.needs]))}
        for step in steps
    ]
    return steps, [StepRecord(**each) for each in draw(st.permutations(same))]


@settings(max_examples=100, deadline=None)
@given(rearranged())
def test_ids_and_places_of_steps_are_no_difference(sides: tuple[list[StepRecord], list[StepRecord]]):
    """A turn equals itself, and itself with renamed steps in another order."""
    before, after = sides

    assert compare(turn(*before), turn(*before), TOOLS) == []
    assert compare(turn(*before), turn(*after), TOOLS) == []


@settings(max_examples=100, deadline=None)
@given(plans(), st.data())
def test_a_dropped_argument_is_always_found(steps: list[StepRecord], data: st.DataObject):
    """Whichever it is, among whichever others; it is named if no other call could have lost it."""
    given = [step for step in steps if step.args and step.tool == "x.find"]
    if not given:
        return
    victim = data.draw(st.sampled_from(given))
    name = data.draw(st.sampled_from(sorted(victim.args)))
    left = {key: value for key, value in victim.args.items() if key != name}
    after = [step.model_copy(update={"args": left}) if step is victim else step for step in steps]

    texts = [each.text for each in compare(turn(*steps), turn(*after), TOOLS)]

    assert any(text.startswith("x.find: ") for text in texts)
    if len([step for step in steps if step.tool == "x.find"]) == 1:
        assert [text.partition(", was ")[0] for text in texts] == [f"x.find: {name} is left out"]
