"""The examples in the documents do what the documents show.

A fenced block whose fence names a file (```json plan.json) is written to that file. A `console` block is run: bash runs
the lines after `$ ` (and `> `, where a command goes on) against the embedded stack. The lines below are the expected
output, in which `...` matches anything. Other blocks are for reading.
"""

import doctest
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks
from turnloom.workers.embedded.stack import Stack

SHOWN_URL = "http://localhost:8000"
# The commands that an installed project has on its PATH.
COMMANDS = """
turnloom() { %s -m turnloom.workers.cli "$@"; }
python3() { "$PYTHON" "$@"; }
pip() { "$PYTHON" -m tests.installing "${@: -1}" site; }
"""
EXAMPLES = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_examples_do_what_the_page_says(page: Path, stack: Stack, tmp_path: Path, loaded_python: list[str]):
    """A reader who copies a page's commands gets the output that the page shows."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    (tmp_path / "turnloom").mkdir()
    (tmp_path / "turnloom" / "tools").symlink_to(tmp_path / "tools")

    commands = COMMANDS % shlex.join(loaded_python)
    shown = [
        (command, output, _run(commands + command, stack, tmp_path)) for command, output in _session(page, tmp_path)
    ]

    assert [(command, output, seen) for command, output, seen in shown if not _matches(output, seen)] == []


def _session(page: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the commands of a page with their expected output. Write the page's files on the way."""
    for block in blocks(page):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif block.language == "console":
            for part in f"\n{block.text}".split("\n$ ")[1:]:
                lines = part.splitlines(keepends=True)
                more = next((n for n, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
                yield lines[0] + "".join(line[2:] for line in lines[1:more]), "".join(lines[more:])


def _run(script: str, stack: Stack, folder: Path) -> str:
    environment = {
        **os.environ,
        **stack.environment,
        "KEY": stack.dev_key,
        "PYTHON": sys.executable,
        # Processes that a program of a page has started.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{folder}:{folder}/site:{ROOT}",
    }
    shell = ["bash", "-c", script.replace(SHOWN_URL, stack.url)]
    done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=50, check=False)
    return done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}exit code {done.returncode}"


def _matches(expected: str, seen: str) -> bool:
    return doctest.OutputChecker().check_output(expected.rstrip(), seen.rstrip(), doctest.ELLIPSIS)
