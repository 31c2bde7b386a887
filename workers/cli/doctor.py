"""`turnloom doctor`: look at everything a process of ours depends on, and say how to mend what fails."""

import importlib.metadata
import re
import resource
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal

import click
import httpx2
from pydantic import ValidationError
from rich.console import Console

from models import database, functions, migration
from models import redis as live
from models.errors import TurnloomError, Unavailable
from models.ledger import integrations, readiness, tenants
from models.overriding import read_overrides
from models.service_urls import shown_url
from models.settings import settings
from planner.llm.prices import find_price, load_prices
from planner.tailoring import assemble
from tools.enabled import enabled_tools
from tools.hooks import POINTS, hooks
from tools.registry import load_registry
from workers.cli.printing import json_option, print_json
from workers.embedded.binaries import postgres_folder, redis_server

_PYTHON = (3, 11)
_REDIS = (7, 0)
_OPEN_FILES = 4_096
_SKEW_S = 1.0
_TIMEOUT_S = 5.0
_OPENAI = "https://api.openai.com/v1"
_SIGNS = {"ok": "[green]ok  ", "warning": "[yellow]warn", "failed": "[red]FAIL", "skipped": "[dim]skip"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at. `look` returns what it saw, or raises one of our errors."""

    name: str
    look: Callable[[], str]
    mend: str
    needs: str | None = None
    """Another check, without which this one cannot be made."""
    optional: bool = False
    """What fails is worth a word, not exit code 1."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came out of a check."""

    check: str
    status: Literal["ok", "warning", "failed", "skipped"]
    detail: str
    mend: str | None = None


@click.command
@json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check every dependency and setting, and say how to mend what fails."""
    findings = examine(CHECKS)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    context.exit(1 if any(finding.status == "failed" for finding in findings) else 0)


def examine(checks: Sequence[Check]) -> list[Finding]:
    """Make the checks in their order; one that needs a check that failed is skipped."""
    found: dict[str, Finding] = {}
    for check in checks:
        if check.needs and found[check.needs].status != "ok":
            found[check.name] = Finding(check.name, "skipped", f"cannot be checked without: {check.needs}")
        else:
            found[check.name] = _finding(check)
    return list(found.values())


def _finding(check: Check) -> Finding:
    try:
        return Finding(check.name, "ok", check.look())
    except TurnloomError as error:
        return Finding(check.name, "warning" if check.optional else "failed", str(error), check.mend)


def _print(findings: Sequence[Finding]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for finding in findings:
        console.print(f"{_SIGNS[finding.status]}[/]", end=" ")
        console.print(f"{finding.check}: {finding.detail}", markup=False)
        if finding.mend:
            console.print(f"     mend: {finding.mend}", markup=False)


def _python() -> str:
    if sys.version_info < _PYTHON:
        raise Unavailable(f"Python {sys.version.split()[0]} is too old")
    return sys.version.split()[0]


def _packages() -> str:
    try:
        wanted = [line for line in importlib.metadata.requires("turnloom") or [] if "extra ==" not in line]
    except importlib.metadata.PackageNotFoundError:
        raise Unavailable("turnloom itself is not installed") from None
    missing = [name for line in wanted if not _installed(name := re.split(r"[\[<>=!~; ]", line)[0])]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    return f"{len(wanted)} installed"


def _installed(name: str) -> bool:
    return any(importlib.metadata.distributions(name=name))


def _settings() -> str:
    try:
        return f"{len(settings().model_fields_set)} set, all others at their defaults"
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise Unavailable("; ".join(faults)) from None


def _open_files() -> str:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _OPEN_FILES:
        raise Unavailable(f"a process may open {soft} files; each open event stream is one")
    return str(soft)


def _database() -> str:
    database.ping(settings().database_url)
    return "answers"


def _connections() -> str:
    seen = database.examine()
    if seen.is_pooled and not settings().database_pooled:
        raise Unavailable("a pooler stands in front of Postgres: set TURNLOOM_DATABASE_POOLED=true")
    for name, value in seen.differing.items():
        raise Unavailable(f"{name} is {value}: run `turnloom migrate`, then let the pooler connect again")
    return f"up to {settings().database_pool_size} of each process, {'by a pooler' if seen.is_pooled else 'direct'}"


def _schema() -> str:
    missing = migration.pending(settings().database_url)
    if missing is None:
        with database.transaction() as db:
            missing = readiness.lacking(db)
    if missing:
        raise Unavailable(missing)
    return f"up to date, with the functions of this version ({functions.schema()})"


def _role() -> str:
    is_superuser, is_owner = migration.role_rights(settings().database_url)
    if is_superuser or is_owner:
        raise Unavailable(f"the application's role {'is a superuser' if is_superuser else 'owns the tables'}")
    return "owns nothing"


def _clock() -> str:
    skew_s = abs((database.clock(settings().database_url) - datetime.now(UTC)).total_seconds())
    if skew_s > _SKEW_S:
        raise Unavailable(f"this clock and the database's differ by {skew_s:.1f} s")
    return f"within {_SKEW_S:.0f} s of the database's"


def _redis() -> str:
    info = live.ping(settings().redis_url)
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < _REDIS:
        raise Unavailable(f"it speaks Redis {version}; we need {_REDIS[0]}.{_REDIS[1]}")
    return f"answers, speaks Redis {version}"


def _eviction() -> str:
    policy = live.ping(settings().redis_url)["maxmemory_policy"]
    if policy != "noeviction":
        raise Unavailable(f"maxmemory-policy is {policy}: a full server would throw queued tasks away")
    return "noeviction"


def _llm() -> str:
    if settings().offline:
        return "the offline model answers, for demos and tests"
    url = f"{(settings().openai_base_url or _OPENAI).rstrip('/')}/models"
    shown = shown_url(url)
    headers = {"Authorization": f"Bearer {settings().openai_api_key}"} if settings().openai_api_key else {}
    try:
        answer = httpx2.get(url, headers=headers, timeout=_TIMEOUT_S)
    except httpx2.HTTPError as error:
        raise Unavailable(f"{shown} does not answer: {type(error).__name__}") from error
    if answer.is_error:
        raise Unavailable(f"{shown} answers {answer.status_code}")
    return f"{shown} answers"


def _prices() -> str:
    model = "offline" if settings().offline else settings().llm_model
    try:
        price = find_price(model, load_prices(settings().llm_prices))
    except (OSError, ValueError) as error:
        raise Unavailable(f"TURNLOOM_LLM_PRICES: {error}") from error
    if price is None:
        raise Unavailable(f"the price of {model} is not known, so that what it costs is not either")
    return f"{model} costs {price.prompt:g} and {price.completion:g} USD per million tokens"


def _prompts() -> str:
    folder = settings().prompts_dir
    agents = sorted(path.stem for path in folder.glob("agents/*.yaml"))
    if not agents:
        raise Unavailable(f"{folder} has no agents/*.yaml that we can read")
    return f"agents {', '.join(agents)} in {folder}"


def _overrides() -> str:
    folder = settings().tenant_prompts_dir
    if folder is not None and not folder.is_dir():
        raise Unavailable(f"TURNLOOM_TENANT_PROMPTS_DIR: {folder} is no folder")
    with database.transaction() as db:
        found = {row.name: row.id for row in tenants.listed(db)}
    count = 0
    for name, tenant_id in found.items():
        own = read_overrides(tenant_id)
        count += len(own.texts)
        for reason in assemble(own, settings().prompts_dir).refused.values():
            raise Unavailable(f"of tenant {name}: {reason}")
    return f"tenants have {count} texts of their own"


def _packs() -> str:
    found = load_registry(settings().packs).tools.values()
    counts = Counter(tool.pack for tool in found)
    return ", ".join(f"{pack} ({counts[pack]} tools)" for pack in settings().packs) or "none"


def _mcp_servers() -> str:
    counts = Counter(tool.integration for tool in enabled_tools().tools.values() if tool.pack == "mcp")
    return ", ".join(f"{server} ({count} tools)" for server, count in counts.items()) or "none imported"


def _hooks() -> str:
    found = hooks()
    return ", ".join(sorted({hook.name for point in POINTS for hook in found.at(point)})) or "none"


def _secret_keys() -> str:
    with database.transaction() as db:
        if unreadable := integrations.unreadable(db):
            raise Unavailable(f"none of TURNLOOM_SECRET_KEYS made the secrets of {unreadable} accounts")
    return "tokens and passwords of users can be kept and read"


def _audit_key() -> str:
    if settings().audit_key is None:
        raise Unavailable("TURNLOOM_AUDIT_KEY is not set: what is cut or written anew in the audit log is not found")
    return "the audit log is sealed"


def _embedded() -> str:
    return f"{postgres_folder() / 'postgres'} and {redis_server()}"


CHECKS = (
    Check("python", _python, "install Python 3.11 or newer"),
    Check("packages", _packages, "run `make setup`, or `pip install turnloom`"),
    Check("settings", _settings, "mend or unset the variable; docs/reference/settings.md has them all"),
    Check("open files", _open_files, "`ulimit -n 65536` before the start, or LimitNOFILE= of the unit", optional=True),
    Check("embedded servers", _embedded, "needed by `turnloom up`, the demo and the tests only", optional=True),
    Check("database", _database, "set DATABASE_URL, or run `turnloom up`, which brings its own", needs="settings"),
    Check("connections", _connections, "docs/how-to/run-in-production.md#behind-a-pooler shows how", "database"),
    Check("schema", _schema, "run `turnloom migrate`", needs="connections"),
    Check("role", _role, "let DATABASE_URL name the role `turnloom`, TURNLOOM_OWNER_DATABASE_URL the owner", "schema"),
    Check("clock", _clock, "let NTP set both clocks", needs="database"),
    Check("redis", _redis, "set REDIS_URL, or run `turnloom up`, which brings its own", needs="settings"),
    Check("redis eviction", _eviction, "set `maxmemory-policy noeviction` in the server's configuration", "redis"),
    Check("language model", _llm, "look at OPENAI_BASE_URL and OPENAI_API_KEY", needs="settings"),
    Check("prices", _prices, "set TURNLOOM_LLM_PRICES, as docs/how-to/bound-what-it-costs.md shows", "settings", True),
    Check("prompts", _prompts, "let TURNLOOM_PROMPTS_DIR name the folder prompts/", needs="settings"),
    Check("overrides", _overrides, "`turnloom prompts list --tenant NAME` shows what is refused", "schema", True),
    Check("secret keys", _secret_keys, "docs/how-to/let-it-act-for-a-user.md shows the keys' life", "schema", True),
    Check("audit key", _audit_key, "docs/how-to/keep-the-audit-log.md shows the key's life", "settings", True),
    Check("packs", _packs, "mend TURNLOOM_PACKS, or the package that brings the pack", needs="settings"),
    Check("MCP servers", _mcp_servers, "mend the file that TURNLOOM_MCP_SERVERS names; docs/how-to/mcp.md", "packs"),
    Check("hooks", _hooks, "mend TURNLOOM_HOOKS, or the package that brings the hook", needs="settings"),
)
