"""Check everything that our processes depend on, and say how to fix what fails: `turnloom doctor`."""

import importlib.metadata
import re
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import click
from rich.console import Console

from turnloom.models.errors import TurnloomError, Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.tools.command_output import json_option, print_json
from turnloom.tools.pack_settings import unknown_settings
from turnloom.workers.cli import part_checks as parts
from turnloom.workers.cli import server_checks as servers
from turnloom.workers.embedded.binaries import postgres_folder, redis_server

_PYTHON = (3, 11)
_OPEN_FILES = 4_096
_ROLE = "let DATABASE_URL name the role `turnloom`, and TURNLOOM_OWNER_DATABASE_URL the owner"
_MODEL = "check OPENAI_API_KEY, OPENAI_BASE_URL and TURNLOOM_LLM_MODEL; TURNLOOM_OFFLINE_MODEL=true is for demos"
_GOLDEN = "correct TURNLOOM_EVAL_KEY and TURNLOOM_EVAL_AGENTS, or write the file: docs/how-to/evaluate.md"
_SIGNS = {"ok": "[green]ok  ", "warning": "[yellow]warn", "failed": "[red]FAIL", "skipped": "[dim]skip"}


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `look` returns what it found, or raises one of our errors."""

    name: str
    look: Callable[[], str]
    mend: str
    needs: str | None = None
    """Another check that must succeed before this one can be made."""
    optional: bool = False
    """A failure is a warning and does not lead to exit code 1."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check."""

    check: str
    status: Literal["ok", "warning", "failed", "skipped"]
    detail: str
    mend: str | None = None


@click.command
@json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check every dependency and setting, and say how to fix what fails."""
    findings = examine(CHECKS)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    context.exit(1 if any(finding.status == "failed" for finding in findings) else 0)


def examine(checks: Sequence[Check]) -> list[CheckResult]:
    """Make the checks in order. A check is skipped if it needs one that failed."""
    found: dict[str, CheckResult] = {}
    for check in checks:
        if check.needs and found[check.needs].status != "ok":
            found[check.name] = CheckResult(check.name, "skipped", f"not checked, because this failed: {check.needs}")
        else:
            found[check.name] = _finding(check)
    return list(found.values())


def _finding(check: Check) -> CheckResult:
    try:
        return CheckResult(check.name, "ok", check.look())
    except TurnloomError as error:
        return CheckResult(check.name, "warning" if check.optional else "failed", str(error), check.mend)
    except Exception as error:  # noqa: BLE001 - whatever a check meets, the others are made
        return CheckResult(check.name, "failed", f"the check itself raised {type(error).__name__}", check.mend)


def _print(findings: Sequence[CheckResult]) -> None:
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
    return f"{len(settings().model_fields_set)} set, all others have their defaults"


def _names() -> str:
    if unknown := unknown_settings():
        raise Unavailable("; ".join(unknown))
    return "all names are known"


def _open_files() -> str:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _OPEN_FILES:
        raise Unavailable(f"a process may open only {soft} files; each open event stream takes one")
    return str(soft)


def _embedded() -> str:
    return f"{postgres_folder() / 'postgres'} and {redis_server()}"


CHECKS = (
    Check("python", _python, "install Python 3.11 or newer"),
    Check("packages", _packages, "run `make setup`, or `pip install turnloom`"),
    Check("settings", _settings, "correct or unset the variable; docs/reference/settings.md lists them all"),
    Check("packs", parts.packs, "fix the variable, or the package that brings the pack", needs="settings"),
    Check("names of settings", _names, "correct or unset the variable", "packs", True),
    Check("open files", _open_files, "run `ulimit -n 65536` before the start, or set LimitNOFILE=", optional=True),
    Check("embedded servers", _embedded, "only `turnloom up`, the demo and the tests need them", optional=True),
    Check("database", servers.database, "set DATABASE_URL, or run `turnloom up`, which brings its own", "settings"),
    Check("connections", servers.connections, "docs/how-to/run-in-production.md#behind-a-pooler", needs="database"),
    Check("schema", servers.schema, "run `turnloom migrate`", needs="connections"),
    Check("role", servers.role, _ROLE, needs="schema"),
    Check("row security", servers.row_security, "docs/how-to/run-in-production.md#servers", "schema", True),
    Check("clock", servers.clock, "let NTP set both clocks", needs="database"),
    Check("redis", servers.redis, "set REDIS_URL, or run `turnloom up`, which brings its own", needs="settings"),
    Check("redis eviction", servers.eviction, "set `maxmemory-policy noeviction` in its configuration", needs="redis"),
    Check("broker", servers.broker, "correct TURNLOOM_BROKER_URL, or start the broker", needs="redis"),
    Check("workers", servers.workers, "start `turnloom worker --queues …` for them", "schema", True),
    Check("beat", servers.beat, "start `turnloom beat`, once", "schema", True),
    Check("language model", parts.language_model, _MODEL, needs="settings"),
    Check("prices", parts.prices, "set TURNLOOM_LLM_PRICES: docs/how-to/bound-what-it-costs.md", "settings", True),
    Check("agents", parts.agents, "fix the file, or set TURNLOOM_PROMPTS_DIR to the folder prompts/", "packs"),
    Check("overrides", parts.overrides, "`turnloom prompts list --tenant NAME` shows why", "schema", True),
    Check("secret keys", parts.secret_keys, "read docs/how-to/let-it-act-for-a-user.md", "schema", True),
    Check("channels", parts.channels, "set the account again with `turnloom channel set`", "schema", True),
    Check("audit key", parts.audit_key, "set one: docs/how-to/keep-the-audit-log.md", "settings", True),
    Check("link secret", parts.link_secret, "set it to any secret, the same for every process", "settings", True),
    Check("extras", parts.extras, "install them, or take the pack out of TURNLOOM_PACKS", "packs", True),
    Check("MCP servers", parts.mcp_servers, "fix the file of TURNLOOM_MCP_SERVERS: docs/how-to/mcp.md", needs="packs"),
    Check("tools of agents", parts.tools_of_agents, "fix the agent's file, or enable the pack", "packs", True),
    Check("golden conversations", parts.golden_conversations, _GOLDEN, "schema", True),
    Check("hooks", parts.hooks, "fix TURNLOOM_HOOKS, or the package that brings the hook", needs="settings"),
)
