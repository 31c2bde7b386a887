"""The parts of the console's page that need no browser: run by Node.js' own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest

from turnloom.web.console import page

FOLDER = Path(__file__).parent
LIBRARIES = Path(page.__file__).parent / "node_modules"


@pytest.mark.parametrize("name", [path.name for path in sorted(FOLDER.glob("*.test.mjs"))])
def test_parts_without_a_browser(name: str) -> None:
    """State, layout and texts are as their tests say."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed; the page as it is sent needs none")
    if not LIBRARIES.is_dir():
        pytest.skip("`make page` installs the libraries that the page is made with")

    done = subprocess.run([node, "--test", str(FOLDER / name)], capture_output=True, text=True, check=False, timeout=50)

    assert done.returncode == 0, done.stdout[-4_000:]
