"""Without the libraries of an extra, the parts that need them say so, and everything else works."""

import json
import subprocess
import tomllib
from collections.abc import Callable

import pytest

from turnloom.models.runtime.settings import ROOT
from turnloom.tools.extras import EXTRAS

Python = Callable[..., subprocess.CompletedProcess[str]]

MISSING = [module for modules in EXTRAS.values() for module in modules]
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({MISSING}));"
COMMAND = f"{BLOCKED} from turnloom.workers.cli import main; main()"


@pytest.fixture
def python(loaded_python: list[str]) -> Python:
    """Run code in a process that has loaded no library of an extra."""

    def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*loaded_python, "-c", code, *arguments], capture_output=True, text=True, check=False)

    return run


def test_the_extras_are_those_of_the_package() -> None:
    """The code looks for the libraries that `pip install` brings."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

    for extra, modules in EXTRAS.items():
        assert sorted(line.partition(">")[0].replace("-", "_") for line in declared[extra]) == sorted(modules)


def test_a_tool_without_its_libraries_is_not_offered(python: Python) -> None:
    """All other tools of the same packs are offered."""
    listed = "from turnloom.tools.enabled_tools import enabled_tools; print(*enabled_tools().tools)"

    there, left = (set(python(code).stdout.split()) for code in (listed, f"{BLOCKED} {listed}"))

    meetings = {f"network.{deed}_meeting" for deed in ("schedule", "confirm", "reschedule", "cancel")}
    assert there - left == {*meetings, "research.fetch"}
    assert {"research.search", "research.read"} <= left


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tools", "show", "research.fetch"), "trafilatura; run `pip install 'turnloom[web]'`"),
        (("tools", "show", "network.schedule_meeting"), "caldav, icalendar; run `pip install 'turnloom[calendars]'`"),
        (("mcp",), "mcp, uvicorn; run `pip install 'turnloom[mcp]'`"),
        (("mcp", "import"), "mcp, uvicorn; run `pip install 'turnloom[mcp]'`"),
    ],
    ids=["fetch", "propose", "mcp", "import"],
)
def test_the_error_names_the_extra(python: Python, arguments: tuple[str, ...], told: str) -> None:
    """It is one sentence, without a traceback."""
    done = python(COMMAND, *arguments)

    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_lists_what_is_not_available(python: Python) -> None:
    """It is a warning, because everything else works."""
    findings = {each["check"]: each for each in json.loads(python(COMMAND, "doctor", "--json").stdout)}

    assert findings["packs"]["status"] == "ok"
    assert findings["extras"]["status"] == "warning"
    assert "research.fetch is not available: not installed: trafilatura" in findings["extras"]["detail"]


def test_a_process_starts_without_them(python: Python) -> None:
    """Its log names each tool that it lacks."""
    done = python(f"{BLOCKED} from turnloom.workers.upkeep.preflight import check_parts; check_parts()")

    assert done.returncode == 0
    assert (done.stdout + done.stderr).count("tool.not_available") == 5


def test_a_page_cannot_be_read_without_the_library(python: Python) -> None:
    """A folder of documents in HTML is loaded only with it."""
    read = "from turnloom.tools.packs.research.main_text import read_html; read_html('<p>x</p>')"

    done = python(f"{BLOCKED} {read}")

    assert "Unavailable: HTML cannot be used: not installed: trafilatura" in done.stderr
