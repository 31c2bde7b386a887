"""Split Markdown into passages that are short enough to quote, each with the headings above it.

In: a text.  Out: its passages in order. Joined, they are the text without its headings. Pure.
"""

import re
import textwrap
from collections.abc import Iterator

from turnloom.tools.packs.research.store.documents import NewPassage

LONGEST_PASSAGE = 1_000
"""The largest number of characters in a passage."""

_DEEPEST = 6
_FENCE = re.compile(r"\s*(```+|~~~+)")
_ITEM = re.compile(r"([-*+]|\d{1,3}[.)])\s|\|")


def split(text: str, *, is_markdown: bool = True) -> list[NewPassage]:
    """Return the passages of a text."""
    sections = _sections(text) if is_markdown else [("", text)]
    return [
        NewPassage(section=section, text=passage)
        for section, body in sections
        for passage in _packed(_blocks(body.splitlines()))
    ]


def first_heading(text: str) -> str | None:
    """Return the first heading of a text; None if it has none."""
    return next((section.split(" > ")[0] for section, _ in _sections(text) if section), None)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield each part of a text with the headings above it."""
    above: list[tuple[int, str]] = []
    body: list[str] = []
    for line, is_code in _lines(text):
        heading = None if is_code else _heading(line)
        if heading is None:
            body.append(line)
            continue
        yield _path(above), "\n".join(body)
        body = []
        above = [*(one for one in above if one[0] < heading[0]), heading]
    yield _path(above), "\n".join(body)


def _heading(line: str) -> tuple[int, str] | None:
    """Return level and title of a heading; None for any other line."""
    title = line.lstrip("#")
    level = len(line) - len(title)
    if not 1 <= level <= _DEEPEST or not title[:1].isspace() or not title.strip():
        return None
    return level, title.strip().rstrip("#").rstrip() or title.strip()


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a block of code."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
            yield line, True
            continue
        yield line, bool(fence)
        if fence and line.strip() == fence:
            fence = ""


def _path(above: list[tuple[int, str]]) -> str:
    return " > ".join(heading for _, heading in above)


def _blocks(lines: list[str]) -> Iterator[str]:
    """Yield paragraphs, items of lists and rows of tables, with the empty line that ends them."""
    block: list[str] = []
    for line in lines:
        if block and (not block[-1].strip() or _ITEM.match(line)):
            yield "\n".join(block)
            block = []
        block.append(line)
    yield "\n".join(block)


def _packed(blocks: Iterator[str]) -> Iterator[str]:
    """Join blocks into passages as long as possible. A block that is too long is split between words."""
    passage = ""
    for block in blocks:
        for piece in [block] if len(block) <= LONGEST_PASSAGE else textwrap.wrap(block, LONGEST_PASSAGE):
            if passage and len(passage) + 1 + len(piece) > LONGEST_PASSAGE:
                yield passage.strip()
                passage = ""
            passage = f"{passage}\n{piece}" if passage else piece
    if passage.strip():
        yield passage.strip()
