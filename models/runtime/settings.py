"""Every setting, read from the environment here and nowhere else.

Defaults suit a laptop. Names are TURNLOOM_*, beside the customary DATABASE_URL, REDIS_URL and OPENAI_*.
"""

import os
import re
from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from models.contracts.sentences import Described
from models.errors import Misconfigured, NotFound
from models.runtime.service_urls import check_service_url
from models.runtime.setting_faults import PREFIX, fault_of, unknown_variables

Placement = Literal["spread", "dense"]

_REDIS_SCHEMES = ("redis", "rediss", "unix")
LEAST_CONNECTIONS = 4
"""Of a process to Postgres: fewer than these cannot work."""


def _network(text: str) -> str:
    """Let an address or a network pass."""
    return str(ip_network(text, strict=False))


ROOT = Path(__file__).resolve().parents[2]
"""Where prompts/ and migrations/ lie: the checkout, or site-packages of an installed wheel."""


class MiniHotelCredentials(BaseModel):
    """A user of MiniHotel's interface."""

    username: str
    password: SecretStr


class Settings(Described, BaseSettings):
    """The settings of one process."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        extra="ignore",
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    database_url: str = Field(
        "postgresql://turnloom@127.0.0.1:5432/turnloom", validation_alias=AliasChoices("database_url", "DATABASE_URL")
    )
    """Postgres, as the application's role, which owns nothing."""
    owner_database_url: str | None = None
    """Postgres, as the role that owns the tables; used by `turnloom migrate` only. Default: `DATABASE_URL`."""
    redis_url: str = Field("redis://127.0.0.1:6379/0", validation_alias=AliasChoices("redis_url", "REDIS_URL"))
    """The Redis-protocol server: Celery's broker, chord counters, live events."""
    database_pooled: bool = False
    """Whether a pooler that lends a server's connection for a transaction, such as PgBouncer, stands in front of
    Postgres."""
    database_pool_size: int = Field(8, le=200)
    """Open Postgres connections per process, at most; 4 is the least that can work."""

    openai_api_key: str | None = Field(None, validation_alias=AliasChoices("openai_api_key", "OPENAI_API_KEY"))
    """Key of the language-model endpoint."""
    openai_base_url: str | None = Field(None, validation_alias=AliasChoices("openai_base_url", "OPENAI_BASE_URL"))
    """Any endpoint that speaks the OpenAI protocol: vLLM, Ollama, llama.cpp, LiteLLM."""
    offline_model: bool = False
    """Let the offline model answer where neither of the two is set; else no worker starts that plans or answers. It is
    for demos, tests and benchmarks. The embedded stack sets it."""
    llm_model: str = "gpt-4o"
    """The language model, where neither the call nor the agent names one."""
    llm_timeout_s: float = Field(30.0, gt=0)
    """Time for one call to the language model."""
    llm_slots: int = Field(12, ge=1)
    """Turns that one worker process plans or answers with the language model at a time. The rest of its threads is for
    what needs no model: keep it below the worker's concurrency."""
    tenant_llm_slots: int = Field(8, ge=1)
    """How many of these one tenant's turns may take."""
    llm_retries: int = Field(2, ge=0, le=10)
    """Further tries of a call to the language model after a transient failure."""
    llm_max_tokens: int = Field(4096, ge=64)
    """Upper bound of tokens in one answer of the language model."""
    llm_max_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name that the endpoint knows that bound by: OpenAI's newer models want `max_completion_tokens`."""

    llm_prices: str | None = None
    """Prices of language models in US dollars per million tokens, over the shipped ones: JSON such as
    `{"my-model": {"prompt": 0.5, "cached": 0.1, "completion": 2}, "local-*": {"prompt": 0, "completion": 0}}`, or the
    path of such a file, JSON or YAML."""

    critic: Literal["auto", "off"] = "auto"
    """`off` lets no reply be looked over before it is sent, whatever the agents' profiles say: to compare the two."""

    packs: list[str] = ["dates", "hotel", "meetings", "notifications", "research", "travel"]
    """Tool packs to load, as a JSON list. The embedded stack adds `sim`."""
    mcp_servers: Path | None = None
    """A file that names MCP servers whose tools plans may call, YAML or JSON; `turnloom mcp import` writes the list of
    these tools next to it."""
    hooks: list[str] = []
    """Hooks around calls of tools and language models, as a JSON list of dotted paths, such as `["acme.hooks"]` or
    `["acme.hooks:auditor"]`; asked in this order, after those of installed packages."""
    prompts_dir: Path = ROOT / "prompts"
    """Agents, prompts, templates and the offline model's rules."""
    tenant_prompts_dir: Path | None = None
    """A folder per tenant, called by its name or id, with texts in place of those in prompts/, under the same paths."""
    default_agent: str = "generic"
    """The agent of a turn that names none, in a new conversation."""
    placement: Placement = "spread"
    """How steps are laid on workers. `spread`: independent tools run on separate workers. `dense`, for high volume:
    up to four tools of a turn that only read ride together in one worker's threads, and a worker that takes plans and
    tools goes on with the turn that it has planned, and begins its reads while the plan is written."""
    canvas_max_steps: int = Field(16, ge=1, le=200)
    """Steps in one fragment, at most: each message carries the rest of its canvas."""
    plan_max_steps: int = Field(200, ge=1, le=1000)
    """Steps in one plan, at most."""
    turn_deadline_ms: int = Field(600_000, ge=100)
    """Deadline of a turn that names none, from its acceptance."""

    approval_timeout_s: float = Field(86_400.0, gt=0)
    """How long a call that needs a person's approval waits for it; then it counts as rejected."""

    breaker_pause_s: float = Field(300.0, gt=0, le=86_400)
    """How long an outside service that failed five times in a row is left alone; then one call tries whether it is
    back."""

    tenant_backlog_limit: int = Field(10_000, ge=1)
    """Turns of one tenant that are not final; over it, new messages get 503."""
    backlog_limit: int = Field(100_000, ge=1)
    """Turns of all tenants that are not final; over it, new messages get 503."""

    tenant_window: int = Field(64, ge=0)
    """Turns of one tenant that are handed to the workers at the same time; its others are held, so that no other tenant
    waits behind them. 0: any number. About twice what the workers run at a time keeps these busy."""
    burst_window_ms: int = Field(0, ge=0, le=10_000)
    """How long a new turn is held after each message, for more of them to become a part of it; four times that, at
    most."""
    order_window_ms: int = Field(2_000, ge=0, le=60_000)
    """How long a message with a `sequence` in its metadata is held, from its acceptance, for those missing before
    it."""

    api_max_body_bytes: int = Field(262_144, ge=1024)
    """Largest accepted request body."""
    api_header_timeout_s: float = Field(10.0, gt=0, le=300)
    """How long a client of the API may take to send a request's header, and to begin with the first one."""
    api_body_timeout_s: float = Field(30.0, gt=0, le=300)
    """How long a client of the API may take to send a request's body; then it gets 408."""
    api_idle_timeout_s: float = Field(75.0, gt=0, le=3_600)
    """How long a connection to the API may stay open between requests, and how long a client may take nothing of its
    answer. A proxy in front must keep its own idle connections for less."""
    api_connections_per_address: int = Field(1_000, ge=0)
    """Connections to one web process that one address may hold, or one /64 network of IPv6; further ones get 429.
    0: any number."""
    api_proxies: list[Annotated[str, AfterValidator(_network)]] = ["127.0.0.0/8", "::1"]
    """Addresses and networks that may hold any number of connections, because they speak for many, as a JSON list: the
    proxies in front."""
    api_url: str = "http://127.0.0.1:8000"
    """Where commands that talk to a running stack find its API."""
    api_key: str | None = None
    """The key that these commands use; the embedded stack's own where unset."""
    dev_key: str | None = None
    """The embedded stack's development key; made up at first start where unset."""
    sweep_interval_s: float = Field(2.0, gt=0)
    """Pause between two sweeps, which find whatever nobody holds."""
    sweep_grace_s: float = Field(2.0, ge=0)
    """How long a turn may wait for a planner, or a ready step for a worker, until it is sent again; doubles."""
    task_events: bool = False
    """Celery's task events, which Flower's task list needs; about 0.2 ms a task."""
    link_secret: str | None = None
    """Signs the booking links of the hotel pack; whoever takes the bookings checks with the same. The embedded stack
    makes one up."""
    secret_keys: list[str] = Field([], repr=False)
    """Keys that encrypt users' tokens and passwords, as a JSON list, such as `turnloom secrets new-key` makes: the
    first encrypts, all decrypt. The embedded stack makes one up."""
    audit_key: str | None = Field(None, min_length=32, repr=False)
    """Signs the heads of the audit log about once a minute: changes by somebody without this key are found. It has 32
    characters at least, such as `turnloom secrets new-key` makes; the same for as long as the log is kept. The embedded
    stack makes one up."""
    allowed_hosts: list[str] = []
    """Hosts that URLs which users, language models or pages name may reach although they are not public, or on another
    port than 80 and 443: a JSON list of names and addresses, each with or without a port, and of networks, such as
    `["wiki.internal:8080", "10.1.0.0/16"]`."""
    minihotel_credentials: dict[str, MiniHotelCredentials] = {}
    """What hotels on MiniHotel are asked with, as JSON: `{"NAME": {"username": "…", "password": "…"}}`. A hotel's
    catalogue names its own."""
    travel_latency_ms: int = Field(0, ge=0, le=10_000)
    """Pause before the travel tools answer from shipped data, like a provider's; for demos and load tests."""
    travel_provider: Literal["offline", "live"] = "offline"
    """Where the travel tools look: `offline` in the shipped data, `live` at the keyless services below."""
    contact: str | None = None
    """An address, of a page or for e-mail, that services find in the `User-Agent` of our calls; Wikipedia asks for
    one."""
    geocoding_url: str = "https://geocoding-api.open-meteo.com"
    """Open-Meteo's search for places, for `live` travel."""
    forecast_url: str = "https://api.open-meteo.com"
    """Open-Meteo's forecast, for `live` travel."""
    wikipedia_url: str = "https://en.wikipedia.org"
    """The Wikipedia whose articles are the sights of `live` travel."""
    overpass_url: str = "https://overpass-api.de"
    """An Overpass server, for the hotels of `live` travel, and for its sights where Wikipedia has none."""
    sim_log: Path | None = None
    """The sim pack appends `S|E turn_id step_id attempt epoch_seconds` here, one line per start and effect."""
    crash_at: Path | None = None
    """For drills: the process that reaches the point that this file's first line names kills itself there."""
    run_dir: Path | None = None
    """Where workers and beat keep the files that `turnloom worker --check` and `turnloom beat --check` read. Default: a
    folder of the user's own among the temporary files."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Least severe level that is logged."""
    log_format: Literal["json", "console"] = "json"
    """JSON lines for machines, or columns for people."""

    @field_validator("database_pool_size")
    @classmethod
    def _enough_connections(cls, size: int) -> int:
        if size < LEAST_CONNECTIONS:
            raise ValueError(
                f"TURNLOOM_DATABASE_POOL_SIZE is {size}; write {LEAST_CONNECTIONS} or more: some of a process's"
                " connections are kept for accepting messages, and others are lent while it leads"
            )
        return size

    @field_validator("database_url", "owner_database_url")
    @classmethod
    def _names_postgres(cls, url: str | None) -> str | None:
        if url is not None:
            check_service_url(url, ("postgresql", "postgres"))
        return url

    @field_validator("redis_url")
    @classmethod
    def _names_redis(cls, url: str) -> str:
        if url.partition("://")[0].lower() not in _REDIS_SCHEMES:
            raise ValueError(
                "the broker must be Redis or Valkey, at redis://HOST:6379/0 or rediss://…: messages, joins and live"
                " events use commands that no other broker has"
            )
        check_service_url(url)
        return url

    @field_validator("openai_base_url", "api_url")
    @classmethod
    def _names_a_service(cls, url: str | None) -> str | None:
        if url is not None:
            check_service_url(url)
        return url

    @property
    def offline(self) -> bool:
        """True where the offline model answers."""
        return self.openai_api_key is None and self.openai_base_url is None


@lru_cache
def settings() -> Settings:
    """Return this process's settings. Tests clear the cache: `settings.cache_clear()`.

    Raises:
        Misconfigured: a variable is wrong. It is named, its value is not.
    """
    try:
        return Settings()
    except (ValidationError, SettingsError) as error:
        raise Misconfigured(fault_of(error, Settings.model_fields)) from None


def misspelt() -> list[str]:
    """Return a sentence for each variable of the environment that is named like a setting and is none."""
    return unknown_variables(os.environ, Settings.model_fields)


def fill_in(text: str) -> str:
    """Return a text with the environment's variables in place of `${NAME}`: what a file holds instead of secrets.

    Raises:
        NotFound: there is no such variable; the message names it.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise NotFound(f"the environment has no variable {match[1]}")
        return os.environ[match[1]]

    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", value, text)
