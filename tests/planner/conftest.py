"""Fixtures of planner tests: a scripted endpoint, the offline model, and the shipped agents and tools."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.planner.llm.scripted import Script, scripted_server
from tests.planner.material import make_material
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.runtime.settings import Settings, settings
from turnloom.planner.agents import load_agents
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.planner.prompts import shipped
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.tools.registry import Registry, load_registry


@pytest.fixture(scope="session")
def tools() -> Registry:
    """Return every shipped tool."""
    return load_registry(["dates", "hotel", "meetings", "notifications", "sim", "travel"])


@pytest.fixture
def script() -> Iterator[Script]:
    """Serve an endpoint that answers by script."""
    with scripted_server() as script:
        yield script


@pytest.fixture
def llm(script: Script) -> Iterator[OpenAIModel]:
    """Return the adapter, connected to the script."""
    model = connect(Settings(openai_base_url=script.url, llm_retries=2, llm_timeout_s=5))
    assert isinstance(model, OpenAIModel)
    yield model
    model.close()


@pytest.fixture(scope="session")
def offline(clean_environment: None) -> Iterator[OpenAIModel]:
    """Return the adapter, connected to the offline model."""
    model = connect(Settings())
    assert isinstance(model, OpenAIModel)
    yield model
    model.close()


@pytest.fixture
def reply_input(tools: Registry) -> Callable[..., ReplyInput]:
    """Return a function that makes the input of a reply: `reply_input(step, …, agent="travel", slots=…)`."""

    def make(*steps: StepResult, agent: str = "travel", slots: Any = None, **material: Any) -> ReplyInput:
        profile = load_agents(settings().prompts_dir / "agents").get(agent)
        return ReplyInput(
            material=make_material(*steps, agent=agent, left_ms=5_000, **material),
            agent=profile.model_copy(update={"critic": "off"}),  # the tests of the critic count its calls
            tools=tools,
            prompts=shipped(),
            now=datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
            slots=slots or {},
        )

    return make


@pytest.fixture
def context(tools: Registry) -> Callable[..., PlanningContext]:
    """Return a function that makes a planning context: `context("message", agent="travel", mode=…, history=…)`."""

    def make(message: str, *, agent: str = "travel", **more: Any) -> PlanningContext:
        profile = load_agents(settings().prompts_dir / "agents").get(agent)
        now = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
        given: dict[str, Any] = {"mode": profile.mode, "now": now, "timeout_s": 10.0} | more
        return PlanningContext(agent=profile, tools=tools.allowed(profile.tools), message=message, **given)

    return make
