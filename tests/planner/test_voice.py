"""The voice of an agent reaches every system prompt."""

import pytest

from turnloom.models.contracts.manner import Manner
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.agents import load_agents
from turnloom.planner.prompts import shipped
from turnloom.planner.voice import voice

AGENT = load_agents(ROOT / "prompts" / "agents").get("assistant")


def test_a_manner_comes_after_the_persona() -> None:
    """Tone, name, specialization and connected services are worded in the prompt, and named in its sources."""
    manner = Manner(tone="warm", assistant_name="Robin", specialization="scheduling", integrations=["mail"])

    inputs, parts = voice(AGENT.asked(None, manner), shipped(), {})

    assert inputs["persona"].startswith(AGENT.persona.strip())
    for word in ('"Robin"', '"warm"', "scheduling", '["mail"]'):
        assert word in inputs["persona"]
    assert "fragments/manner@1" in [part.source for part in parts]


def test_no_manner_leaves_the_prompt_as_it_was() -> None:
    """An agent that nobody asked for a manner speaks as its persona."""
    inputs, parts = voice(AGENT.asked(None, None), shipped(), {})

    assert inputs["persona"] == AGENT.persona.strip()
    assert all(not part.source.startswith("fragments/manner") for part in parts)


@pytest.mark.parametrize("specialization", ["negotiation", "scheduling", "memory", "coordination"])
def test_each_specialization_has_words(specialization: str) -> None:
    """No specialization is accepted and then left out."""
    given = AGENT.asked(None, Manner(specialization=specialization))

    inputs, _ = voice(given, shipped(), {})

    assert len(inputs["persona"]) > len(AGENT.persona.strip()) + 80
