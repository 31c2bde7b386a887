"""Check the parts of a process for the doctor: language model, agents, packs, hooks, and what they need.

Each check returns what it found, or raises one of our errors.
"""

import time
from collections import Counter
from collections.abc import Mapping

from turnloom.models.connections import database
from turnloom.models.errors import TurnloomError, Unavailable
from turnloom.models.ledger import channel_accounts, integrations, keys, tenants
from turnloom.models.ledger.override_cache import read_overrides
from turnloom.models.runtime.service_urls import shown_url
from turnloom.models.runtime.settings import Settings, settings
from turnloom.planner.agents import load_agents
from turnloom.planner.llm.named_models import settings_of
from turnloom.planner.llm.prices import LlmPrice, find_price, load_prices
from turnloom.planner.tenant_texts import assemble
from turnloom.tools.enabled_tools import enabled_tools
from turnloom.tools.hooks import POINTS
from turnloom.tools.hooks import hooks as enabled_hooks
from turnloom.tools.pack_settings import read_pack_settings
from turnloom.tools.packs.hotel.settings import HotelSettings
from turnloom.tools.registry import load_registry, unavailable
from turnloom.workers.channels.accounts import open_account
from turnloom.workers.evals.nightly import missing_words, nightly

_LLM_S = 10.0


def language_model() -> str:
    """Ask each language model for a word: only an answer proves that it accepts the key and knows the model."""
    config = settings()
    if config.offline and not config.offline_model:
        raise Unavailable("no language model is set: workers that plan or answer will not start")
    return "; ".join(_word_of(each) for each in _of_each_llm(config))


def _of_each_llm(config: Settings) -> list[Settings]:
    """Return the settings of the default language model and of those that may be named."""
    return [config.model_copy(update={"llm_models": {}}), *(settings_of(config, name) for name in config.llm_models)]


def _word_of(config: Settings) -> str:
    if config.offline:
        return "the offline model answers; it is for demos and tests"
    # This is a third of everything that a process imports.
    from turnloom.planner.llm.openai import connect  # noqa: PLC0415 - heavy, see above

    model = connect(config.model_copy(update={"llm_retries": 0, "llm_max_tokens": 16}))
    began = time.monotonic()
    where = shown_url(config.openai_base_url or "https://api.openai.com/v1")
    try:
        model.generate([{"role": "user", "content": "Say ok."}], purpose="direct", timeout_s=_LLM_S)
    except Unavailable as error:
        said = str(error).replace(config.openai_api_key or "\n", "…")
        raise Unavailable(f"{config.llm_model} at {where}: {said}") from error
    return f"{config.llm_model} at {where} answers after {time.monotonic() - began:.1f} s"


def agents() -> str:
    """Read the agents' files."""
    folder = settings().prompts_dir
    found = load_agents(folder / "agents")
    if not found.profiles:
        raise Unavailable(f"{folder} has no agents/*.yaml that we can read")
    found.get(settings().default_agent)
    return f"{', '.join(found.profiles)} in {folder}"


def tools_of_agents() -> str:
    """Look for patterns in agents' tools that match no tool."""
    registry = enabled_tools()
    profiles = load_agents(settings().prompts_dir / "agents").profiles.values()
    vain = [f"{agent.name}: {each}" for agent in profiles for each in agent.tools if not registry.allowed([each]).tools]
    if vain:
        raise Unavailable(f"these patterns match no tool of the enabled packs: {', '.join(vain)}")
    return "every pattern matches a tool"


def audit_key() -> str:
    """Look for the key that signs the audit log."""
    if settings().audit_key is None:
        raise Unavailable("TURNLOOM_AUDIT_KEY is not set: a cut or rewritten audit log would go unnoticed")
    return "the audit log is signed"


def link_secret() -> str:
    """Look for the secret that signs the hotel pack's booking links."""
    if "hotel" not in settings().packs:
        return "not needed without the pack hotel"
    if not settings().of(HotelSettings).link_secret:
        raise Unavailable("TURNLOOM_LINK_SECRET is not set: the pack hotel makes no booking links")
    return "booking links are signed"


def prices() -> str:
    """Look for the price of each language model."""
    try:
        known = load_prices(settings().llm_prices)
    except (OSError, ValueError) as error:
        raise Unavailable(f"TURNLOOM_LLM_PRICES: {error}") from error
    models = ("offline" if each.offline else each.llm_model for each in _of_each_llm(settings()))
    return "; ".join(_price_of(model, known) for model in models)


def _price_of(model: str, known: Mapping[str, LlmPrice]) -> str:
    price = find_price(model, known)
    if price is None:
        raise Unavailable(f"the price of {model} is not known: costs are not counted")
    return f"{model} costs {price.prompt:g} and {price.completion:g} USD per million tokens"


def overrides() -> str:
    """Check the tenants' own texts."""
    folder = settings().tenant_prompts_dir
    if folder is not None and not folder.is_dir():
        raise Unavailable(f"TURNLOOM_TENANT_PROMPTS_DIR: {folder} is not a folder")
    with database.transaction() as db:
        found = {row.name: row.id for row in tenants.listed(db)}
    count = 0
    for name, tenant_id in found.items():
        own = read_overrides(tenant_id)
        count += len(own.texts)
        for reason in assemble(own, settings().prompts_dir).refused.values():
            raise Unavailable(f"of tenant {name}: {reason}")
    return f"tenants have {count} texts of their own"


def packs() -> str:
    """Load the packs, and read their settings."""
    read_pack_settings()
    found = load_registry(settings().packs).tools.values()
    counts = Counter(tool.pack for tool in found)
    return ", ".join(f"{pack} ({counts[pack]} tools)" for pack in settings().packs) or "none"


def extras() -> str:
    """Look for tools of the packs that lack an extra of the package."""
    if lacking := unavailable():
        raise Unavailable("; ".join(f"{name} is not available: {reason}" for name, reason in lacking.items()))
    return "every tool has its libraries"


def mcp_servers() -> str:
    """Read the imported lists of the MCP servers' tools."""
    counts = Counter(tool.integration for tool in enabled_tools().tools.values() if tool.pack == "mcp")
    return ", ".join(f"{server} ({count} tools)" for server, count in counts.items()) or "none imported"


def hooks() -> str:
    """Load the hooks."""
    found = enabled_hooks()
    return ", ".join(sorted({hook.name for point in POINTS for hook in found.at(point)})) or "none"


def golden_conversations() -> str:
    """Look for what keeps the golden conversations from being held each night."""
    key = settings().eval_key
    if key is None:
        return "none is held each night: TURNLOOM_EVAL_KEY is not set"
    with database.transaction() as db:
        if keys.recognise(db, keys.digest(key)) is None:
            raise Unavailable("TURNLOOM_EVAL_KEY is no key of this deployment, or works no more")
    conversations, without = nightly()
    if without:
        raise Unavailable(missing_words(without))
    return f"{len(conversations)} are held each night"


def secret_keys() -> str:
    """Check whether stored secrets can be read."""
    with database.transaction() as db:
        if unreadable := integrations.unreadable(db):
            raise Unavailable(f"none of TURNLOOM_SECRET_KEYS can read {unreadable} of the stored secrets")
    return "secrets can be stored and read"


def channels() -> str:
    """Open the accounts of channels. Their providers are not asked."""
    with database.transaction() as db:
        stored = channel_accounts.listed(db, None)
    for each in stored:
        try:
            open_account(each)
        except TurnloomError as error:
            raise Unavailable(f"{each.channel} account {each.name} of tenant {each.tenant}: {error}") from error
    return ", ".join(f"{each.channel}:{each.name}" for each in stored) or "no accounts"
