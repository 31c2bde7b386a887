"""The shipped golden conversations pass on the offline model. `turnloom eval` names those that fail."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from turnloom.models.runtime.settings import ROOT
from turnloom.workers.cli import main
from turnloom.workers.cli.client import Api
from turnloom.workers.embedded.stack import Stack
from turnloom.workers.evals.conversations import Golden, Way, load_golden
from turnloom.workers.evals.runner import hold

SHIPPED = load_golden(sorted((ROOT / "prompts" / "golden").glob("*.yaml")))

WRONG = """
agent: generic
conversations:
  - name: good
    about: It passes.
    turns: [{say: "Hello!", expect: {tools: []}}]
  - name: wrong
    about: It asks for a tool that nobody would call, and never comes to its second message.
    turns:
      - {say: "Hello!", expect: {tools: [sim.burn]}}
      - {say: "Thanks!", expect: {tools: []}}
"""


def evaluate(stack: Stack, *arguments: str) -> Result:
    """Run `turnloom eval` against the stack's API."""
    return CliRunner().invoke(main, ["eval", "--url", stack.url, "--key", stack.dev_key, *arguments])


@pytest.mark.parametrize("golden", SHIPPED, ids=lambda golden: f"{golden.agent}-{golden.name}")
def test_a_golden_conversation(stack: Stack, golden: Golden) -> None:
    """Slots, effects, facts, artifacts, grounding and questions are as the file says."""
    with Api(stack.url, stack.dev_key) as api:
        assert hold(api, golden).difference is None


def test_the_shipped_conversations_fix_no_way() -> None:
    """They expect outcomes, so that any good model can pass."""
    ways = [
        (golden.name, name)
        for golden in SHIPPED
        for said in golden.turns
        if said.expect is not None
        for name in said.expect.model_fields_set & Way.model_fields.keys()
    ]

    assert ways == []


def test_number_of_golden_conversations() -> None:
    """At least twenty conversations cover the agents `generic`, `hotel` and `travel`, each with its own name."""
    names = [(golden.agent, golden.name) for golden in SHIPPED]

    assert len(names) >= 20
    assert len(set(names)) == len(names)
    assert {agent for agent, _ in names} >= {"generic", "hotel", "travel"}


def test_eval_shows_the_first_difference(stack: Stack, tmp_path: Path) -> None:
    """`eval` names the conversation, the message and the first difference, sends no more, and exits with 1."""
    file = tmp_path / "mine.yaml"
    file.write_text(WRONG)

    shown = evaluate(stack, "--file", str(file))
    told = json.loads(evaluate(stack, "--file", str(file), "--json", "--repeat", "2").stdout)

    assert shown.exit_code == 1
    assert "passed generic/good" in shown.stdout
    assert "failed generic/wrong turn 1 ('Hello!'): tools: [], expected ['sim.burn']" in shown.stdout
    assert "1 of 2 conversations passed" in shown.stdout
    total = told["total"]
    assert (total["conversations"], total["passed"], total["turns"], total["llm_calls"]) == (4, 2, 4, 4)
    assert 0 < total["p50_ms"] <= total["p95_ms"]
    assert total["prompt_tokens"] > 0
    assert total["cost"] == 0.0
    assert [line["passed"] for line in told["conversations"]] == [True, False] * 2
    assert [(line["name"], line["passed"], line["held"], line["pass_k"]) for line in told["results"]] == [
        ("generic/good", 2, 2, 1.0),
        ("generic/wrong", 0, 2, 0.0),
    ]
    assert (total["pass_1"], total["pass_k"]) == (0.5, 0.5)
    assert total["pass_1_interval"] == [pytest.approx(0.0945, abs=1e-4), pytest.approx(0.9055, abs=1e-4)]


def test_eval_for_continuous_integration(stack: Stack, tmp_path: Path) -> None:
    """A threshold makes the exit code, and the results are there as JUnit XML."""
    file, junit = tmp_path / "mine.yaml", tmp_path / "junit.xml"
    file.write_text(WRONG)

    shown = evaluate(stack, "--file", str(file), "--ci", "--repeat", "2", "--min-pass", "0.5", "--junit", str(junit))
    suite = ElementTree.parse(junit).getroot()

    assert shown.exit_code == 0, shown.output
    assert "generic/good\t2/2\t100.0% [34.2%, 100.0%]" in shown.stdout
    assert "pass@1 50.0% [9.5%, 90.5%], pass^2 50.0% [9.5%, 90.5%]" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["wrong", "wrong"]


def test_eval_exits_with_0_if_all_pass(stack: Stack) -> None:
    """`--agent` chooses the conversations of one agent."""
    shown = evaluate(stack, "--agent", "generic")

    assert shown.exit_code == 0, shown.output
    assert "travel/" not in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--agent", "nobody"), 1), (("--base-url", "http://127.0.0.1:1/v1"), 2), (("--file", "none"), 2)],
)
def test_eval_refuses_wrong_arguments(stack: Stack, arguments: tuple[str, ...], code: int) -> None:
    """The arguments name an agent without conversations, a model for an API that has one, or a missing file."""
    assert evaluate(stack, *arguments).exit_code == code
