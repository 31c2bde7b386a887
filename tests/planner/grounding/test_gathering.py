"""What counts as evidence for a reply, and what does not."""

from collections.abc import Callable
from dataclasses import replace

from planner.grounding import check, gather
from planner.outcome import Outcome
from planner.results import StepOutcome
from tools.registry import load_registry

NOTED = StepOutcome(id="n", tool="research.note", args={}, status="succeeded", result={"text": "It costs 900 EUR."})
FOUND = StepOutcome(
    id="s", tool="research.search", args={}, status="succeeded", result={"results": [{"passage": "It costs 80 EUR."}]}
)


def test_the_plans_own_word_is_no_evidence(outcome: Callable[..., Outcome]) -> None:
    """A price that only a note holds is not said; one that a document holds is, and points there."""
    told = replace(outcome(NOTED, FOUND, agent="research"), tools=load_registry(["research"]))

    grounding = check("It costs 80 EUR, not 900 EUR.", gather(told, [NOTED, FOUND], []))

    assert [violation.text for violation in grounding.violations] == ["900 EUR"]
    assert [(one.text, one.step, one.path) for one in grounding.sources] == [("80 EUR", "s", "results[0].passage")]
