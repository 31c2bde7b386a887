"""The golden conversations that are held each night: those of the agents that the settings name."""

from collections.abc import Mapping
from typing import NamedTuple

from turnloom.models.errors import Invalid
from turnloom.models.runtime.settings import settings
from turnloom.workers.evals.conversations import Golden, load_golden


class Nightly(NamedTuple):
    """The golden conversations of a night."""

    conversations: Mapping[str, Golden]
    """By agent and name."""
    without: list[str]
    """The agents that the settings name and that have no golden conversations."""


def nightly() -> Nightly:
    """Return what is to be held each night.

    Raises:
        Invalid: there are no golden conversations at all, or a file cannot be read.
    """
    folder = settings().prompts_dir / "golden"
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise Invalid(f"{folder} has no golden conversations")
    found = load_golden(files)
    wanted = settings().eval_agents
    held = {f"{golden.agent}/{golden.name}": golden for golden in found if not wanted or golden.agent in wanted}
    return Nightly(held, sorted(set(wanted) - {golden.agent for golden in found}))


def missing_words(agents: list[str]) -> str:
    """Return a sentence about agents without golden conversations."""
    folder = settings().prompts_dir / "golden"
    return f"TURNLOOM_EVAL_AGENTS names agents that have no golden conversations in {folder}: {', '.join(agents)}"
