"""The picture of a turn in the README."""

import json
import subprocess
import sys

from tests.docs.pages import ROOT

PICTURES = ROOT / "docs" / "pictures"


def test_the_picture_is_drawn_from_the_stored_turn():
    """Nobody edits the picture, and nobody forgets to draw it again."""
    done = subprocess.run(
        [sys.executable, "docs/picture.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_picture_shows_every_step():
    """Each step is in the plan and in the time line."""
    steps = [step["id"] for step in json.loads((PICTURES / "turn.json").read_text("utf-8"))["steps"]]

    drawn = (PICTURES / "turn.svg").read_text("utf-8")

    assert {step: drawn.count(f">{step}</text>") for step in steps} == dict.fromkeys(steps, 2)
