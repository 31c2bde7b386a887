"""Read the project's own pages."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block."""

    language: str
    file: str | None
    """The second word after the fence."""
    text: str


def blocks(page: Path) -> list[Block]:
    """Return a page's fenced blocks in order."""
    return [Block(*found) for found in _FENCE.findall(page.read_text("utf-8"))]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))
