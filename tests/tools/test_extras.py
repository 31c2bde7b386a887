"""Without the libraries of an extra, the parts that need them say so, and everything else works."""

import json
import subprocess
import sys
import tomllib

import pytest

from turnloom.models.runtime.settings import ROOT
from turnloom.tools.extras import EXTRAS

MISSING = [module for modules in EXTRAS.values() for module in modules]
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({MISSING}));"
COMMAND = f"{BLOCKED} from turnloom.workers.cli import main; main()"


def without(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that can import no library of an extra."""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_the_extras_are_those_of_the_package() -> None:
    """The code looks for the libraries that `pip install` brings."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

    for extra, modules in EXTRAS.items():
        assert sorted(line.partition(">")[0].replace("-", "_") for line in declared[extra]) == sorted(modules)


def test_a_tool_without_its_libraries_is_not_offered() -> None:
    """All other tools of the same packs are offered."""
    listed = "from turnloom.tools.enabled_tools import enabled_tools; print(*enabled_tools().tools)"

    there, left = (set(without(code).stdout.split()) for code in (listed, f"{BLOCKED} {listed}"))

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
def test_the_error_names_the_extra(arguments: tuple[str, ...], told: str) -> None:
    """It is one sentence, without a traceback."""
    done = without(COMMAND, *arguments)

    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_lists_what_is_not_available() -> None:
    """It is a warning, because everything else works."""
    findings = {each["check"]: each for each in json.loads(without(COMMAND, "doctor", "--json").stdout)}

    assert findings["packs"]["status"] == "ok"
    assert findings["extras"]["status"] == "warning"
    assert "research.fetch is not available: not installed: trafilatura" in findings["extras"]["detail"]


def test_a_process_starts_without_them() -> None:
    """Its log names each tool that it lacks."""
    done = without(f"{BLOCKED} from turnloom.workers.upkeep.preflight import check_parts; check_parts()")

    assert done.returncode == 0
    assert (done.stdout + done.stderr).count("tool.not_available") == 5


def test_a_page_cannot_be_read_without_the_library() -> None:
    """A folder of documents in HTML is loaded only with it."""
    read = "from turnloom.tools.packs.research.main_text import read_html; read_html('<p>x</p>')"

    done = without(f"{BLOCKED} {read}")

    assert "Unavailable: HTML cannot be used: not installed: trafilatura" in done.stderr
