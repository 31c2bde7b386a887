"""A tenant's own prompts and agents take effect within seconds, and every trace names them."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.conftest import Cli, new_tenant
from tests.journeys.following import finished, post, run
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.agents import load_agents
from turnloom.workers.embedded.stack import Stack

ECHO = [{"id": "a", "tool": "sim.echo", "args": {"value": "hi"}}]
OWN_RESULTS = (
    "---\nname: responding/results\nversion: 1\ninputs: [steps]\n---\n"
    "The guild has spoken: {% for step in steps %}{{ step.result | tojson }}{% endfor %}"
)
OWN_AGENT = "persona: You are the guild's own planner.\n"


@pytest.fixture(scope="module")
def guild(stack: Stack, cli: Cli) -> Iterator[httpx2.Client]:
    """A client of a separate tenant."""
    with new_tenant(stack, cli, "guild", "turns:read,turns:write,plans:submit") as client:
        yield client


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


def test_own_template_writes_the_reply(guild: httpx2.Client, api: httpx2.Client, cli: Cli) -> None:
    """The template counts from seconds after it is set until seconds after it is removed, and for no other tenant."""

    def says(client: httpx2.Client) -> str:
        text: str = run(client, ECHO)["reply"]["text"]
        return text

    shipped = says(guild)
    cli("prompts", "set", "responding/results", "-", "--tenant", "guild", given=OWN_RESULTS)
    wait_for(lambda: says(guild) == 'The guild has spoken: {"value": "hi"}')
    turn = run(guild, ECHO)
    others = says(api)
    cli("prompts", "remove", "responding/results", "--tenant", "guild")
    wait_for(lambda: says(guild) == shipped)

    trace = guild.get(f"/v1/turns/{turn['turn_id']}/trace.json").json()
    assert trace["reply"]["written_by"] == f"template:responding/results@1+{digest(OWN_RESULTS)}"
    assert others == shipped
    assert api.get(f"/v1/turns/{turn['turn_id']}/trace.json").status_code == 404


def test_trace_names_every_version(guild: httpx2.Client, cli: Cli) -> None:
    """The trace names the version of the agent and of each prompt, and the catalogue shows the tenant's agent."""
    cli("agents", "set", "travel", "-", "--tenant", "guild", given=OWN_AGENT)

    version = load_agents(ROOT / "prompts" / "agents").get("travel").version
    own = f"agents/travel@{version}+{digest(OWN_AGENT)}"

    def trace_of(turn: dict[str, Any]) -> Any:
        return guild.get(f"/v1/turns/{turn['turn_id']}/trace.json").json()

    def ask() -> dict[str, Any]:
        return finished(guild, post(guild, "Check the weather in Kyoto", agent="travel")["turn_id"])

    def listed() -> str:
        agents = {item["name"]: item["source"] for item in guild.get("/v1/agents").json()["items"]}
        return str(agents["travel"])

    wait_for(lambda: listed() == own)
    # Each process notices a change by itself, within seconds.
    wait_for(lambda: all(trace_of(turn)["reply"]["agent"] == own for turn in (ask(), ask(), ask())))
    turn = ask()
    trace = trace_of(turn)

    (plan,) = trace["plans"]
    assert plan["trace"]["agent"] == trace["reply"]["agent"] == own
    assert {name.partition("@")[0] for name in plan["trace"]["prompts"]} >= {"system/planning", "styles/default"}
    assert all("@" in name and "+" not in name for name in plan["trace"]["prompts"])
    assert [call["purpose"] for call in trace["llm_calls"]][:1] == ["plan"]
    assert [step["tool"] for step in trace["steps"]] == [step["tool"] for step in turn["steps"]]
