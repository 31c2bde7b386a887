"""The shipped golden conversations pass on a second language model, which goes another way than the offline model."""

from collections.abc import Iterator

import pytest

from tests.journeys.other_model import behave
from tests.planner.llm.scripted import Script
from turnloom.models.runtime.settings import ROOT
from turnloom.workers.cli.client import Api
from turnloom.workers.embedded.stack import Stack
from turnloom.workers.evals.conversations import Golden, load_golden
from turnloom.workers.evals.runner import hold

SHIPPED = load_golden(sorted((ROOT / "prompts" / "golden").glob("*.yaml")))


@pytest.fixture(scope="module")
def other(script: Script, dense: Stack) -> Iterator[Stack]:
    """The stack `dense`, with a language model that answers in another way than the offline model."""
    before, script.otherwise = script.otherwise, behave
    yield dense
    script.otherwise = before


@pytest.mark.parametrize("golden", SHIPPED, ids=lambda golden: f"{golden.agent}-{golden.name}")
def test_a_golden_conversation(other: Stack, golden: Golden) -> None:
    """A model with other steps, in another order, that writes replies itself or names other templates passes too."""
    with Api(other.url, other.dev_key) as api:
        assert hold(api, golden).difference is None
