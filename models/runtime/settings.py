"""Every setting of the engine, read from the environment. A pack reads its own in its module `settings`.

Defaults suit a laptop. Names are TURNLOOM_*, beside the customary DATABASE_URL, REDIS_URL and OPENAI_*.
"""

import os
from collections import ChainMap
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import AliasChoices, Field, PrivateAttr, ValidationError, field_validator
from pydantic_settings import SettingsError

from turnloom.models.contracts.rate import Rate
from turnloom.models.contracts.time_zone import Timezone
from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.environment_settings import EnvironmentSettings
from turnloom.models.runtime.llm_endpoint import LlmEndpoint
from turnloom.models.runtime.service_urls import Network, PageUrl, PostgresUrl, RedisUrl, ServiceUrl
from turnloom.models.runtime.setting_faults import fault_of, unknown_variables

Placement = Literal["spread", "dense"]
RedactedKind = Literal["card", "email", "phone"]

LEAST_CONNECTIONS = 4
"""Connections to Postgres that a process needs at least."""

ROOT = Path(__file__).resolve().parents[2]
"""Where prompts/ and migrations/ lie: the checkout, or site-packages of an installed wheel."""

Own = TypeVar("Own", bound=EnvironmentSettings)


class Settings(EnvironmentSettings):
    """The settings of one process, without those of packs."""

    _of_packs: dict[type[EnvironmentSettings], EnvironmentSettings] = PrivateAttr(default_factory=dict)

    database_url: PostgresUrl = Field(
        "postgresql://turnloom@127.0.0.1:5432/turnloom", validation_alias=AliasChoices("database_url", "DATABASE_URL")
    )
    """Postgres, as the application's role, which owns nothing."""
    owner_database_url: PostgresUrl | None = None
    """Postgres, as the role that owns the tables; used by `turnloom migrate` only. Default: `DATABASE_URL`."""
    redis_url: RedisUrl = Field("redis://127.0.0.1:6379/0", validation_alias=AliasChoices("redis_url", "REDIS_URL"))
    """The Redis-protocol server: Celery's broker, chord counters, live events."""
    broker_fast: bool = True
    """Whether messages, chords and the transport are Turnloom's own. `0`: Celery's own, which cost about five times as
    much CPU. All processes need the same value."""
    broker_url: ServiceUrl | None = None
    """Another broker that Celery knows, such as `amqp://USER:PASSWORD@HOST`; its messages are Celery's own."""
    database_pooled: bool = False
    """Whether a pooler that lends connections for a transaction each, such as PgBouncer, is in front of Postgres."""
    row_security: bool = False
    """Whether Postgres, too, keeps tenants apart, also for `turnloom migrate`. It costs a quarter of the messages that
    are accepted a second."""
    database_pool_size: int = Field(8, le=200)
    """Most Postgres connections that a process opens; at least 4."""

    openai_api_key: str | None = Field(None, validation_alias=AliasChoices("openai_api_key", "OPENAI_API_KEY"))
    """Key of the language-model endpoint."""
    openai_base_url: ServiceUrl | None = Field(
        None, validation_alias=AliasChoices("openai_base_url", "OPENAI_BASE_URL")
    )
    """Any endpoint that speaks the OpenAI protocol: vLLM, Ollama, llama.cpp, LiteLLM."""
    offline_model: bool = False
    """Let the offline model answer if neither of the two is set; otherwise a worker that plans or answers does not
    start. It is for demos, tests and benchmarks. The embedded stack sets it."""
    llm_model: str = "gpt-4o"
    """The language model, if neither the message nor the agent names one."""
    llm_models: dict[str, LlmEndpoint] = Field({}, repr=False)
    """Further language models that messages and agents may name, as a JSON object: name -> `model` (as the endpoint
    knows it; the name itself if absent), `base_url` and `api_key` (the default's if both are absent), such as
    `{"small": {"model": "gpt-4o-mini"}, "local": {"base_url": "http://127.0.0.1:11434/v1", "model": "llama3.3"}}`."""
    llm_timeout_s: float = Field(30.0, gt=0)
    """Time for one call to the language model."""
    llm_slots: int = Field(12, ge=1)
    """Turns that one worker process plans or answers with the language model at the same time. The other threads do
    work that needs no model: keep this below the worker's concurrency."""
    tenant_llm_slots: int = Field(8, ge=1)
    """How many of these slots one tenant's turns may take."""
    llm_retries: int = Field(2, ge=0, le=10)
    """Further tries of a call to the language model after a transient failure."""
    llm_max_tokens: int = Field(4096, ge=64)
    """Most tokens in one answer of the language model."""
    llm_max_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The endpoint's name for that bound: OpenAI's newer models want `max_completion_tokens`."""
    llm_temperature: dict[str, float] = dict.fromkeys(("plan", "repair", "revision", "critic", "context"), 0.1)
    """How freely the language model writes, by the purpose of the call, as a JSON object: plan, repair, revision,
    direct, reply, critic, context, summary. For others, and where an endpoint refuses it, its own default counts."""
    llm_seed: dict[str, int] = Field({})
    """The seed of the language model's choices, in the same form, for endpoints that know seeds."""
    llm_prices: str | None = None
    """Prices of language models in US dollars per million tokens, in addition to the shipped ones: JSON such as
    `{"my-model": {"prompt": 0.5, "cached": 0.1, "completion": 2}, "local-*": {"prompt": 0, "completion": 0}}`, or the
    path of such a file, JSON or YAML."""
    critic: Literal["auto", "off"] = "auto"
    """`off` sends every reply without a critic's check, whatever the agents' profiles say, to compare the two."""

    record_prompts: bool = True
    """Record the prompts and answers of language models with their turns, each text once."""
    record_days: int = Field(90, ge=1)
    """How many days they are kept."""
    record_redacted: list[RedactedKind] = Field(["card"])
    """What is taken out before they are stored, as a JSON list of `card`, `email` and `phone`; secrets always are."""

    packs: list[str] = Field(["dates", "hotel", "meetings", "notifications", "research", "travel"])
    """Tool packs to load, as a JSON list. The embedded stack adds `sim`."""
    mcp_servers: Path | None = None
    """A file that names MCP servers whose tools plans may call, YAML or JSON; `turnloom mcp import` writes the list of
    these tools next to it."""
    hooks: list[str] = Field([])
    """Hooks around calls of tools and language models, as a JSON list of dotted paths, such as `["acme.hooks"]` or
    `["acme.hooks:auditor"]`. They run in this order, after those of installed packages."""
    prompts_dir: Path = ROOT / "prompts"
    """Agents, prompts, templates and the offline model's rules."""
    tenant_prompts_dir: Path | None = None
    """A folder that holds one folder per tenant, named by the tenant's name or id. Its texts replace those under the
    same paths in prompts/."""
    default_agent: str = "generic"
    """The agent of a turn that names none, in a new conversation."""
    default_timezone: Timezone = "Asia/Jerusalem"
    """The time zone of users for whom nobody names one: it decides which day is today."""
    placement: Placement = "spread"
    """How steps are laid on workers. `spread`: independent tools run on separate workers. `dense`, for high volume: up
    to four read-only tools of a turn run together in one worker's threads. A worker that takes plans and tools goes on
    with the turn that it has planned, and begins its reads while the plan is written."""
    canvas_max_steps: int = Field(16, ge=1, le=200)
    """Most steps in one fragment: each message carries the rest of its canvas."""
    plan_max_steps: int = Field(200, ge=1, le=1000)
    """Most steps in one plan."""
    plan_tools_shown: int = Field(10, ge=1)
    """Most tools that a planning prompt shows an agent whole. An agent with more is shown those that fit what was said,
    and may search for others."""
    turn_deadline_ms: int = Field(600_000, ge=100)
    """Deadline of a turn that names none, counted from its acceptance."""
    batch_deadline_ms: int = Field(86_400_000, ge=100)
    """The same for a batch turn, which may wait for long."""

    approval_timeout_s: float = Field(86_400.0, gt=0)
    """How long a call waits for a person's approval; then it counts as rejected."""
    breaker_pause_s: float = Field(300.0, gt=0, le=86_400)
    """How long an outside service that failed five times in a row is not called; then one call tests it again."""

    user_rate: Rate | None = None
    """How many messages one user may post, such as `30/minute`; above it, a message gets 429. Default: any number, as
    with the next three. All messages of a tenant that name no user are those of one user."""
    key_rate: Rate | None = None
    """How many messages may be posted with one key."""
    account_rate: Rate | None = None
    """How many messages one account of a channel may bring. Those above it are kept, but not answered."""
    tenant_rate: Rate | None = None
    """How many messages one tenant may post, on all ways together."""
    tenant_backlog_limit: int = Field(10_000, ge=1)
    """Most unfinished turns of one tenant; above it, new messages get 503."""
    user_backlog_limit: int = Field(1_000, ge=1)
    """Most turns of one user that wait for the user's others; above it, the user's new messages get 503."""
    backlog_limit: int = Field(100_000, ge=1)
    """Most unfinished turns of all tenants; above it, new messages get 503."""

    tenant_window: int = Field(64, ge=0)
    """Most turns of one tenant that are handed to the workers at the same time. Its others are held, so that no other
    tenant waits behind them. 0: any number. About twice the number of tasks that the workers run at the same time keeps
    them busy."""
    user_window: int = Field(4, ge=0)
    """Most turns of one user handed to the workers, or in their tenant's line for them, at the same time. Nobody else
    waits behind the user's others. Turns without a user count for their conversation. 0: any number."""
    batch_window: int = Field(4, ge=0)
    """Most batch turns of one tenant handed to the workers at the same time, beside its others. 0: any number."""
    burst_window_ms: int = Field(0, ge=0, le=10_000)
    """How long a new turn is held after each message, so that further messages can become a part of it; at most four
    times that in all."""
    order_window_ms: int = Field(2_000, ge=0, le=60_000)
    """How long after its acceptance a message with a `sequence` in its metadata waits for missing earlier ones."""

    api_max_body_bytes: int = Field(262_144, ge=1024)
    """Largest accepted request body."""
    api_header_timeout_s: float = Field(10.0, gt=0, le=300)
    """How long a client of the API may take to send a request's header, and to begin its first request."""
    api_body_timeout_s: float = Field(30.0, gt=0, le=300)
    """How long a client of the API may take to send a request's body before it gets 408."""
    api_idle_timeout_s: float = Field(75.0, gt=0, le=3_600)
    """How long a connection to the API may stay open between requests, and how long a client may stop reading its
    answer. A proxy in front must keep its own idle connections for less."""
    api_connections_per_address: int = Field(1_000, ge=0)
    """Connections to one web process that one address may hold, or one /64 network of IPv6; further ones get 429.
    0: any number."""
    api_streams_per_key: int = Field(0, ge=0)
    """Event streams that clients with one key may follow at one web process; further ones get 429. 0: any number."""
    api_proxies: list[Network] = Field(["127.0.0.0/8", "::1"])
    """Addresses and networks of the proxies in front, as a JSON list. They speak for many clients and may hold any
    number of connections."""
    cors_origins: list[str] = Field([])
    """Websites whose pages may call the API from a browser, as a JSON list such as `["https://app.example.com"]`, or
    `["*"]`. Default: none. Such a page holds a key that its visitors can read."""
    api_url: ServiceUrl = "http://127.0.0.1:8000"
    """Where commands that talk to a running stack find its API."""
    api_key: str | None = None
    """The key that these commands use; by default the embedded stack's own."""
    dev_key: str | None = None
    """The embedded stack's development key; by default it is generated at the first start."""
    console_sign_in: bool | None = None
    """Whether the console signs people in with `TURNLOOM_DEV_KEY` by itself if they open it on this machine under a
    loopback address. By default only the embedded stack does; switch it off before you put a proxy in front of it."""
    sweep_interval_s: float = Field(2.0, gt=0)
    """Pause between two sweeps, which find the work that nobody holds."""
    sweep_grace_s: float = Field(2.0, ge=0)
    """How long a turn may wait for a planner, a ready step for a worker, until it is sent again. Doubles each time."""
    task_events: bool = False
    """Celery's task events, which Flower's task list needs; about 0.2 ms a task."""
    flower_url: PageUrl | None = None
    """Where operators find Flower in a browser: the console links to it. The embedded stack with Flower sets it."""
    secret_keys: list[str] = Field([], repr=False)
    """Keys that encrypt users' tokens and passwords and the secrets of callbacks, as a JSON list; `turnloom secrets
    new-key` makes one. The first encrypts, all decrypt. The embedded stack generates one."""
    audit_key: str | None = Field(None, min_length=32, repr=False)
    """Key that signs the heads of the audit log about once a minute, so that changes by somebody without it are found.
    It has at least 32 characters; `turnloom secrets new-key` makes one. Keep the same key for as long as the log is
    kept. The embedded stack generates one."""
    eval_key: str | None = Field(None, repr=False)
    """Key with which workers hold the golden conversations each night over `TURNLOOM_API_URL`. Beat needs it, too."""
    eval_agents: list[str] = Field([])
    """The agents whose conversations are held then, as a JSON list. Default: all that have some."""
    allowed_hosts: list[str] = Field([])
    """Hosts that URLs of callers, users, language models or pages may reach although they are not public, or on ports
    other than 80 and 443. A JSON list of names and addresses, each with or without a port, and of networks, such as
    `["wiki.internal:8080", "10.1.0.0/16"]`."""
    contact: str | None = None
    """A web or e-mail address in the `User-Agent` of our calls, for their services; Wikipedia asks for one."""
    crash_at: Path | None = None
    """For drills: the process that reaches the point that this file's first line names kills itself there."""
    faults: Path | None = None
    """A folder of `turnloom up --faults` for its processes. `turnloom web`, `worker` and `up` refuse the setting."""
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

    def of(self, pack: type[Own]) -> Own:
        """Return a pack's own settings. They are read once, like these.

        Raises:
            Misconfigured: a variable is wrong. It is named, its value is not.
        """
        own = self._of_packs.get(pack) or self._of_packs.setdefault(pack, _read(pack))
        assert isinstance(own, pack)
        return own

    @property
    def has_fast_broker(self) -> bool:
        """Whether messages, chords and the transport are Turnloom's own."""
        return self.broker_fast and self.broker_url is None

    @property
    def llm_names(self) -> list[str]:
        """The language models that messages and agents may name."""
        return sorted({self.llm_model, *self.llm_models})

    @property
    def offline(self) -> bool:
        """Whether the offline model answers."""
        return self.openai_api_key is None and self.openai_base_url is None


@lru_cache
def settings() -> Settings:
    """Return this process's settings. Tests clear the cache: `settings.cache_clear()`.

    Raises:
        Misconfigured: a variable is wrong. It is named, its value is not.
    """
    return _read(Settings)


def misspelt(of_packs: Iterable[type[EnvironmentSettings]] = ()) -> list[str]:
    """Return a sentence for each environment variable that is named like a setting but is none, nor one of a pack."""
    kinds: list[type[EnvironmentSettings]] = [Settings, *of_packs]
    return unknown_variables(os.environ, ChainMap(*(kind.model_fields for kind in kinds)))


def _read(kind: type[Own]) -> Own:
    try:
        return kind()
    except (ValidationError, SettingsError) as error:
        raise Misconfigured(fault_of(error, kind.model_fields)) from None
