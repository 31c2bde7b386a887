"""Preflight checks the parts of a process before it starts; a fault is one sentence and no traceback."""

from collections.abc import Iterable

from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.fault_folder import refuse_faults
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import load_agents
from turnloom.planner.plan.playbooks import load_playbooks
from turnloom.tools.enabled_tools import enabled_tools
from turnloom.tools.hooks import hooks
from turnloom.tools.registry import unavailable
from turnloom.workers.broker.queues import QUEUES

_TOOLS_ONLY = frozenset({"tools.cpu"})
"""A worker that serves only these queues neither plans nor answers."""


def check_parts() -> None:
    """Read agents, playbooks, packs, MCP servers and hooks, and refuse faults that are meant for an embedded stack.

    Raises:
        TurnloomError: one of them is wrong; the message names it.
    """
    refuse_faults()
    folder = settings().prompts_dir
    agents = load_agents(folder / "agents")
    if not agents.profiles:
        raise Misconfigured(f"{folder} has no agents/*.yaml; set TURNLOOM_PROMPTS_DIR to the folder prompts/")
    agents.get(settings().default_agent)
    load_playbooks(folder / "playbooks")
    enabled_tools()
    for name, reason in unavailable().items():
        log.warning("tool.not_available", tool=name, reason=reason)
    hooks()


def check_queues(queues: Iterable[str]) -> None:
    """Refuse queues that do not exist.

    Raises:
        Misconfigured: there is no such queue; the message names those that exist.
    """
    if unknown := [queue for queue in queues if queue not in QUEUES]:
        raise Misconfigured(f"there is no queue {', '.join(unknown)}; there are {', '.join(QUEUES)}")


def check_language_model(queues: Iterable[str]) -> None:
    """Refuse to let the offline model answer users unless a setting allows it.

    Raises:
        Misconfigured: a worker of these queues plans or answers, and no language model is set.
    """
    if settings().offline and not settings().offline_model and set(queues) != _TOOLS_ONLY:
        raise Misconfigured(
            "no language model is set: set OPENAI_API_KEY or OPENAI_BASE_URL. TURNLOOM_OFFLINE_MODEL=true lets the"
            " offline model answer, which is for demos and tests"
        )
