"""Plans that fit their response schema are accepted, whatever else is in them."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import jsonschema_rs
import pytest

from tests.planner.plan.random_plans import PlanWriter
from turnloom.models.errors import InvalidPlan
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import AgentProfile, load_agents
from turnloom.planner.llm.decoding import decode
from turnloom.planner.llm.schema import plan_schema
from turnloom.planner.plan.expansion import Expansion, expand
from turnloom.planner.plan.playbooks import load_playbooks
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry, load_registry

PLANS = 200
BEYOND_SCHEMAS = {"bad_argument", "bad_slot"}
"""Faults that no schema of strict mode rules out: what a validator of a tool or a slot refuses."""


@pytest.fixture(scope="module")
def everything() -> Registry:
    """Return the tools of every shipped pack."""
    return load_registry(["dates", "hotel", "meetings", "notifications", "research", "sim", "travel"])


@pytest.mark.parametrize("agent", ["assistant", "generic", "hotel", "research", "travel"])
def test_a_plan_that_fits_its_schema_is_accepted(
    agent: str, everything: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    """At least 95 % of random plans are accepted. The others have faults that no schema can rule out."""
    refusals = list(_refusals(load_agents(settings().prompts_dir / "agents").get(agent), everything))
    accepted = 1 - len(refusals) / PLANS
    codes = Counter(fault["code"] for faults in refusals for fault in faults)
    with capsys.disabled():
        sys.stdout.write(f"\n{agent}: {accepted:.1%} of {PLANS} random plans accepted; faults: {dict(codes)}\n")

    assert accepted >= 0.95, Counter(fault["message"] for faults in refusals for fault in faults).most_common(10)
    assert codes.keys() <= BEYOND_SCHEMAS


def _refusals(agent: AgentProfile, everything: Registry) -> Iterator[list[dict[str, str]]]:
    """Yield the faults of each random plan that is refused."""
    tools = everything.allowed(agent.tools)
    playbooks = load_playbooks(settings().prompts_dir / "playbooks").for_agent(agent.name, tools)
    offered = playbooks.beside(tools)
    schema = plan_schema(offered, None, agent)
    fits = jsonschema_rs.validator_for(schema)
    for seed in range(PLANS):
        written = PlanWriter(schema, offered, seed, datetime.now(UTC).date()).plan()
        fits.validate(written)
        expansion = Expansion(playbooks, offered)
        try:
            plan = expand(decode(json.dumps(written), offered), expansion)
            validate(plan, tools, agent.limits, more=expansion.faults)
        except InvalidPlan as error:
            yield error.faults
