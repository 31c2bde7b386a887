"""A preview has the prompts of the calls that a recorded turn makes, with its recorded past."""

from typing import Any

import pytest

from tests.planner.material import make_material
from tests.workers.replay.recorded import NOW, conversation, step, turn
from turnloom.models.contracts.override import NO_OVERRIDES
from turnloom.models.contracts.own_texts import PromptChange
from turnloom.models.contracts.recorded import RecordedTurn
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.errors import NotFound
from turnloom.planner.tenant_texts import tailor
from turnloom.tools.registry import load_registry
from turnloom.workers.replay.prompt_preview import PromptPreview

TOOLS = load_registry(["sim"])
SHIPPED = tailor(NO_OVERRIDES)
PERSONA = "persona: You are a pirate.\n"
ECHOED = StepResult(id="a", tool="sim.echo", args={"value": "a"}, status="succeeded", result={"value": "a"})


def changes(name: str, text: str, tried: RecordedTurn, *earlier: RecordedTurn, **material: Any) -> list[PromptChange]:
    given = {"agent": tried.record.agent, "message": tried.record.message} | material
    preview = PromptPreview(conversation(*earlier, tried), tried, make_material(ECHOED, **given), TOOLS, SHIPPED)
    return preview.changes(SHIPPED.with_text(name, text))


def written(prompt: PromptChange, side: str) -> str:
    return "\n".join(message.content for message in getattr(prompt, side))


def test_an_agents_text_changes_plan_and_reply() -> None:
    """Both prompts have the persona; before, they have the shipped one. The past is that of the record."""
    plan, reply = changes("agents/generic", PERSONA, turn(2, step("a")), turn(1, step("z"), reply="Earlier."))

    assert [plan.purpose, reply.purpose] == ["plan", "reply"]
    for prompt in (plan, reply):
        assert "You are a pirate." in written(prompt, "after")
        assert "You are a pirate." not in written(prompt, "before")
    assert "Earlier." in written(plan, "after")
    assert f"{NOW:%Y-%m-%d}" in written(plan, "after")


def test_a_planning_text_changes_the_plan_alone() -> None:
    """A text that no prompt has changes none of them."""
    text = SHIPPED.text("planning/message") + "Hurry.\n"

    plan, reply = changes("planning/message", text, turn(1, step("a")))
    unused = changes("planning/repair", SHIPPED.text("planning/repair") + "Hurry.\n", turn(1, step("a")))

    assert written(plan, "after") == written(plan, "before") + "\nHurry."
    assert reply.before == reply.after
    assert [each.before for each in unused] == [each.after for each in unused]


@pytest.mark.parametrize(
    ("fields", "purposes"),
    [
        ({"mode": "direct"}, ["direct"]),
        ({"mode": "adaptive"}, ["plan"]),
        ({"submitted_plan": {"steps": []}}, []),
    ],
)
def test_only_calls_that_are_made_have_a_prompt(fields: dict[str, Any], purposes: list[str]) -> None:
    """A posted plan needs none, and what the planner has answered itself is not written again."""
    made = changes("agents/generic", PERSONA, turn(1, **fields), reply="Ahoy.", submitted="submitted_plan" in fields)

    assert [each.purpose for each in made] == purposes
    assert all("You are a pirate." in written(each, "after") for each in made)


def test_an_agent_that_is_gone_has_no_prompts() -> None:
    """The reason names it."""
    with pytest.raises(NotFound, match="gone"):
        changes("agents/generic", PERSONA, turn(1, agent="gone"))
