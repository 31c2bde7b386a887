"""The parts of a worker process are its tools, agents and language model. They are made once, before the first task."""

from functools import lru_cache
from uuid import UUID

from turnloom.models.contracts.override import NO_OVERRIDES
from turnloom.models.ledger.override_cache import overrides_of
from turnloom.models.runtime.lean_imports import loading
from turnloom.models.runtime.settings import settings
from turnloom.planner.llm.protocol import LanguageModel
from turnloom.planner.reply.grounding import prepare
from turnloom.planner.tenant_texts import Tailored, tailor
from turnloom.tools.enabled_tools import enabled_tools
from turnloom.tools.hooks import hooks
from turnloom.tools.registry import Registry


def load_shared() -> None:
    """Load the tools and the templates of replies. They open nothing, so processes that are forked later share them.

    Raises:
        TurnloomError: a pack, a setting or a text has a fault, as `enabled_tools` and `tailor` say.
    """
    registry()
    tailor(NO_OVERRIDES).prompts.wordings()


def warm_up(*, with_llm: bool) -> None:
    """Make the parts and read the templates of replies now, so that the first turn of a process waits for neither."""
    with loading():
        load_shared()
        if with_llm:
            llm()
        hooks()
        prepare()


@lru_cache
def registry() -> Registry:
    """Return the tools of the enabled packs and MCP servers."""
    return enabled_tools()


def tailored(tenant_id: UUID, conversation_id: str | None = None) -> Tailored:
    """Return the prompts and agents of a tenant, at most a few seconds old; with a conversation, those that it has.

    Raises:
        Unavailable: Postgres does not answer.
    """
    return tailor(overrides_of(tenant_id, conversation_id))


@lru_cache
def llm() -> LanguageModel:
    """Return the language model, one client per process."""
    # A third of all that a process imports, and not every process asks a language model.
    from turnloom.planner.llm.openai import connect  # noqa: PLC0415 - heavy, see above

    return connect(settings())
