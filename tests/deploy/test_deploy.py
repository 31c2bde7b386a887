"""docker-compose.yml and deploy/ agree with the code that they start.

Neither Docker nor systemd runs here. The tests compare the files with the commands, the settings and Postgres.
"""

import ast
import configparser
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from turnloom.models.runtime.settings import Settings, settings
from turnloom.models.schema.migration import upgrade
from turnloom.models.schema.roles import role_rights
from turnloom.tools.pack_index import shipped_packs
from turnloom.tools.pack_settings import settings_classes
from turnloom.workers.cli import main
from turnloom.workers.embedded.binaries import postgres_folder
from turnloom.workers.embedded.home import Home
from turnloom.workers.embedded.notify_socket import SILENCE_S
from turnloom.workers.embedded.servers import postgres
from turnloom.workers.embedded.stack import Stack, StackOptions

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "turnloom"}
SYSTEMD = ROOT / "deploy" / "systemd"
WITHOUT_A_SECRET = {
    "OPENAI_BASE_URL",
    "TURNLOOM_AUDIT_KEY",
    "TURNLOOM_FLOWER_URL",
    "TURNLOOM_LLM_MODEL",
    "TURNLOOM_MINIHOTEL_CREDENTIALS",
    "TURNLOOM_SECRET_KEYS",
}
PLACES = ("--bind", "--workers", "--hostname", "--address", "--port")
"""Options for the place and number of processes, which each deployment chooses."""


def compose_lines() -> dict[str, str]:
    return {name: service["command"] for name, service in OURS.items() if name != "migrate"}


def systemd_lines() -> dict[str, str]:
    starts = {path.stem.removeprefix("turnloom-"): unit(path)["ExecStart"] for path in SYSTEMD.glob("*.service")}
    starts["web"] = starts.pop("web@")
    worker = starts.pop("worker@")
    for path in SYSTEMD.glob("worker-*.env"):
        options = path.read_text().strip().removeprefix("OPTIONS=")
        starts[unnumbered(path.stem)] = worker.replace("worker-%i", path.stem).replace("$OPTIONS", options)
    return {name: start.removeprefix("/opt/turnloom/bin/turnloom ") for name, start in starts.items()}


def unit(path: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(path)
    return parser["Service"]


def embedded() -> dict[str, list[str]]:
    """Return the command lines of the embedded stack. Processes of one kind share a name."""
    stack = Stack(StackOptions(data_dir=None, webs=2, planners=2, tool_workers=1))
    stack._of_processes = {}
    programs = [*stack._web_programs(8000), *stack._programs(5555, [])]
    return {unnumbered(program.name): essence(program.command) for program in programs}


def unnumbered(name: str) -> str:
    """Return the name that several processes of a kind share."""
    return re.sub(r"-\d+$", "", name)


def essence(command: list[str]) -> list[str]:
    """Leave out the options of PLACES and their values."""
    kept = [word for before, word in pairwise(["", *command]) if before not in PLACES]
    return [word for word in kept if word.partition("=")[0] not in PLACES]


@pytest.fixture
def becomes(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Return the command line that a `turnloom` command becomes."""
    seen: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _program, command: seen.append(command))

    def run(line: str) -> list[str]:
        done = CliRunner().invoke(main, shlex.split(line), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return essence(seen.pop())

    return run


@pytest.mark.parametrize("lines", [compose_lines, systemd_lines])
def test_production_runs_what_the_embedded_stack_runs(becomes, lines):
    """Each process has the same command line, except for PLACES. A new queue cannot be forgotten."""
    started = {name: becomes(line) for name, line in lines().items()}

    assert started == embedded()


def test_each_service_is_watched_and_comes_back():
    """Every service has a health check and restarts, except the one that runs once and that others wait for."""
    lasting = {name: service for name, service in SERVICES.items() if name != "migrate"}

    assert [name for name, service in lasting.items() if service["restart"] != "unless-stopped"] == []
    assert [name for name, service in lasting.items() if not service.get("healthcheck", {}).get("test")] == []
    assert SERVICES["migrate"]["restart"] == "no"
    assert {name for name in OURS if name != "migrate"} == {
        name
        for name, service in OURS.items()
        if service["depends_on"].get("migrate") == {"condition": "service_completed_successfully"}
    }
    assert [SERVICES[name]["deploy"]["replicas"] for name in ("worker-io", "worker-plan")] == [2, 2]


def test_no_secret_has_a_default():
    """Every secret comes from the environment, and its absence stops the start. `.env.example` names it."""
    variables = dict(re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", COMPOSE))
    example = dict(line.split("=", 1) for line in (ROOT / ".env.example").read_text().splitlines() if "=" in line)

    required = {name for name, rest in variables.items() if rest.startswith(":?")}

    assert set(variables) - required == WITHOUT_A_SECRET
    assert set(example) == set(variables)
    assert {name for name in required if example[name]} == set()
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


def test_containers_get_settings_that_exist():
    """Every TURNLOOM_ variable of our containers is a setting."""
    given = {name for service in OURS.values() for name in service["environment"] if name.startswith("TURNLOOM_")}
    known = {name for kind in (Settings, *settings_classes(shipped_packs()).values()) for name in kind.model_fields}

    assert {name for name in given if name.removeprefix("TURNLOOM_").lower() not in known} == set()


def test_operators_are_asked_where_flower_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each deployment names the setting, and is not held up by leaving it empty."""
    units = (SYSTEMD / "settings.env").read_text()
    given = OURS["web"]["environment"].get("TURNLOOM_FLOWER_URL")
    monkeypatch.setenv("TURNLOOM_FLOWER_URL", "")

    assert re.search(r"^# TURNLOOM_FLOWER_URL=https://\S+$", units, re.MULTILINE)
    assert given == "${TURNLOOM_FLOWER_URL-}"
    assert Settings().flower_url is None


def test_units_restart_and_give_time_to_finish():
    """Each unit restarts whatever happened and has a user of its own. A worker has time to finish its steps."""
    units = {path.stem: unit(path) for path in SYSTEMD.glob("*.service")}

    assert {(one["Restart"], one["User"]) for one in units.values()} == {("always", "turnloom")}
    assert units["turnloom-worker@"]["TimeoutStopSec"] == SERVICES["worker-io"]["stop_grace_period"].removesuffix("s")
    assert units["turnloom-worker@"]["KillMode"] == "mixed"


def test_a_unit_that_no_longer_answers_is_ended():
    """Each of our units reports to systemd in time. Web servers share a socket that outlives them."""
    units = {path.stem: unit(path) for path in SYSTEMD.glob("turnloom-*.service") if path.stem != "turnloom-flower"}
    address = configparser.ConfigParser()
    address.read(SYSTEMD / "turnloom-web.socket")

    assert {(one["Type"], one["WatchdogSec"]) for one in units.values()} == {("notify", f"{SILENCE_S:.0f}")}
    assert units["turnloom-web@"]["Sockets"] == "turnloom-web.socket"
    assert address["Socket"]["ListenStream"] == settings().api_url.removeprefix("http://")


def test_image_holds_every_package():
    """Everything that setup.py packs is copied into the image, and is not ignored."""
    listed = re.search(r"^FOLDERS = (.*)$", (ROOT / "setup.py").read_text(), re.MULTILINE)
    assert listed is not None
    packages = set(ast.literal_eval(listed[1]))

    copied = set(re.findall(r"^COPY (\w+) \1$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE))

    assert copied == packages
    assert packages <= {
        line.removeprefix("!") for line in (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    }


def test_roles_script_prepares_an_empty_server(tmp_path: Path):
    """The postgres container's script makes a database that can be migrated, and a role that owns nothing."""
    home = Home(tmp_path / "data")
    server = postgres(home)
    server.start()
    try:
        at = server.url.partition("@")[2].rpartition("/")[0]
        host, _, port = at.partition(":")
        environment = {
            "PATH": f"{postgres_folder()}:{os.environ['PATH']}",
            "PGHOST": host,
            "PGPORT": port,
            "PGPASSWORD": home.secrets.superuser,
            "POSTGRES_USER": "postgres",
            "TURNLOOM_OWNER_PASSWORD": "owner's",
            "TURNLOOM_APPLICATION_PASSWORD": "application",
        }

        subprocess.run([ROOT / "deploy" / "postgres" / "roles.sh"], env=environment, check=True, timeout=20)

        upgrade(f"postgresql://turnloom_owner:owner%27s@{at}/turnloom")
        assert role_rights(f"postgresql://turnloom:application@{at}/turnloom") == (False, False)
    finally:
        server.stop()
        home.release()
