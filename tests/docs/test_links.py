import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, prose

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FILE = re.compile(r"`((?:web|workers|planner|tools|models|prompts|tests|docs|migrations)/[\w./-]*)`")
_NEW_IN_HOW_TO = "tools/packs/units"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    """A link inside the project leads to a file that exists, and to a heading in it."""
    links = [link for link in _LINK.findall(prose(page)) if not link.startswith(("http://", "https://"))]

    assert [link for link in links if not _exists(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page: Path):
    """Every file or folder of the project that a page names exists."""
    named = [name for name in _FILE.findall(prose(page)) if not name.startswith(_NEW_IN_HOW_TO)]

    assert [name for name in named if not (ROOT / name).exists()] == []


def _exists(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in map(_anchor, _HEADING.findall(target.read_text("utf-8"))))


def _anchor(heading: str) -> str:
    """Return the anchor that forges make for a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
