"""Stacks that several modules share, because starting one is slow.

Two have a scripted language model, one per placement. The odd one joins the settings that other journeys do not bear.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.conftest import stack_on
from tests.journeys.hostile import with_hostile_tools
from tests.journeys.ordering import WINDOWS
from tests.journeys.speaking import Speaker
from tests.journeys.stacks import client_of, command
from tests.journeys.telegram_bot import TelegramBot, telegram_bot
from tests.journeys.whatsapp_number import WhatsAppNumber, whatsapp_number
from tests.planner.llm.scripted import Script, scripted_server
from tests.tools.mcp.serving import Program
from turnloom.models.runtime.settings import ROOT
from turnloom.tools.mcp.lockfile import save_pinned
from turnloom.tools.mcp.servers import ToolTerms
from turnloom.workers.embedded.servers import EmbeddedServers
from turnloom.workers.embedded.stack import Stack

CAP = 3

Cli = Callable[..., str]


@pytest.fixture(scope="package")
def script(clean_environment: None) -> Iterator[Script]:
    """A language model whose answers each test module scripts."""
    with scripted_server() as serving:
        yield serving


@pytest.fixture(scope="module")
def speaking(script: Script) -> Iterator[Speaker]:
    """A language model that answers as the message says."""
    speaker = Speaker(script)
    yield speaker
    speaker.gate.set()


@pytest.fixture
def model(speaking: Speaker) -> Speaker:
    """The same model without pauses."""
    speaking.gate.set()
    return speaking


@pytest.fixture(scope="package")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file where the sim pack of these stacks writes which calls it made."""
    path = tmp_path_factory.mktemp("asking") / "sim.log"
    path.touch()
    return path


@pytest.fixture(scope="package")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped prompts, and agents that run `CAP` steps at a time: `capped-spread` and `capped-dense`."""
    prompts = tmp_path_factory.mktemp("agents") / "prompts"
    shutil.copytree(ROOT / "prompts", prompts)
    generic = (prompts / "agents" / "generic.yaml").read_text("utf-8")
    generic = generic.replace("max_parallel: null", f"max_parallel: {CAP}")
    for placement in ("spread", "dense"):
        text = generic.replace("name: generic", f"name: capped-{placement}") + f"\nplacement: {placement}\n"
        (prompts / "agents" / f"capped-{placement}.yaml").write_text(text, "utf-8")
    return prompts


@pytest.fixture(scope="package")
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """An MCP server whose tools have been imported."""
    folder = tmp_path_factory.mktemp("mcp")
    program = Program(folder, "echo", "note", "die", tools={"echo": ToolTerms(effect="read"), "*": ToolTerms()})
    server = program.server.model_dump(exclude_defaults=True, mode="json")
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"bad": server}}))
    save_pinned(folder / "mcp.json", {"bad": program.definitions()})
    return program


@pytest.fixture(scope="package")
def asking_stack(servers: EmbeddedServers, script: Script, log: Path, prompts: Path, mcp: Program) -> Iterator[Stack]:
    """A stack that asks this language model and has hooks and a foreign server's tools."""
    settings = {
        "OPENAI_BASE_URL": script.url,
        "TURNLOOM_SIM_LOG": str(log),
        "TURNLOOM_PROMPTS_DIR": str(prompts),
        "TURNLOOM_HOOKS": '["tests.journeys.house_rules"]',
        "TURNLOOM_MCP_SERVERS": str(mcp.offered.with_name("mcp.json")),
        "PYTHONPATH": str(ROOT),
    }
    with stack_on(servers, **settings) as stack:
        yield stack


@pytest.fixture(scope="package")
def asking(asking_stack: Stack) -> Iterator[httpx2.Client]:
    """A client of that stack."""
    with client_of(asking_stack) as client:
        yield client


@pytest.fixture(scope="package")
def dense(servers: EmbeddedServers, script: Script, log: Path) -> Iterator[Stack]:
    """A stack that asks this language model, in placement `dense`."""
    settings = {"OPENAI_BASE_URL": script.url, "TURNLOOM_SIM_LOG": str(log), "TURNLOOM_PLACEMENT": "dense"}
    with stack_on(servers, tool_workers=1, **settings) as stack:
        yield stack


@pytest.fixture(scope="package")
def asking_dense(dense: Stack) -> Iterator[httpx2.Client]:
    """A client of the stack `dense`."""
    with client_of(dense) as client:
        yield client


@pytest.fixture(scope="package")
def odd_stack(servers: EmbeddedServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack that has tools that harm their process, and waits for missing messages and for the end of a burst."""
    settings = WINDOWS | with_hostile_tools(tmp_path_factory.mktemp("hostile"))
    with stack_on(servers, tool_workers=1, **settings) as stack:
        yield stack


@pytest.fixture(scope="package")
def bot(stack: Stack) -> Iterator[TelegramBot]:
    """A Telegram bot of the stack. One for all modules: workers remember an account's address for some seconds."""
    with client_of(stack) as client, telegram_bot(stack, client) as bot:
        yield bot


@pytest.fixture(scope="package")
def number(stack: Stack) -> Iterator[WhatsAppNumber]:
    """A WhatsApp number of the stack, likewise."""
    with client_of(stack) as client, whatsapp_number(stack, client) as number:
        yield number


@pytest.fixture(scope="module")
def cli(stack: Stack) -> Cli:
    """Run `turnloom ARGUMENTS` on the stack's database; return what it prints."""
    return partial(command, stack)


def new_tenant(stack: Stack, cli: Cli, name: str, scopes: str) -> httpx2.Client:
    """Create a tenant and a key of it; return a client that has the key."""
    cli("tenant", "create", name)
    key = json.loads(cli("key", "create", "--tenant", name, "--scopes", scopes, "--json"))["key"]
    return httpx2.Client(base_url=stack.url, headers={"X-Api-Key": key}, timeout=40)
