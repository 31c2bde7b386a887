"""What a worker process is made of: its tools, its agents, its language model. Made once, before the first task."""

import gc
from functools import lru_cache

from models.settings import settings
from planner.agents import Agents, load_agents
from planner.llm.openai import connect
from planner.llm.protocol import LanguageModel
from tools.registry import Registry, load_registry


def warm_up() -> None:
    """Make the parts now: the first turn of a process should not wait for imports."""
    registry()
    agents()
    llm()
    # What is there by now stays for good: the garbage collector need not look through it again and again.
    gc.collect()
    gc.freeze()


@lru_cache
def registry() -> Registry:
    """Return the tools of the enabled packs."""
    return load_registry(settings().packs)


@lru_cache
def agents() -> Agents:
    """Return the agents under prompts/agents."""
    return load_agents(settings().prompts_dir / "agents")


@lru_cache
def llm() -> LanguageModel:
    """Return the language model, one client per process."""
    return connect(settings())
