"""Extract the main text from HTML, without menus, advertisements and scripts."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from turnloom.tools.extras import require


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The main text of a page, and its metadata."""

    title: str
    text: str
    """The text, as Markdown."""
    published: date | None
    """The date that the page itself states."""


def read_html(html: bytes | str, url: str | None = None) -> Page:
    """Read a page. If there is no text on it, `text` is empty.

    Raises:
        Unavailable: the extra `web` is not installed.
    """
    require("web", "HTML")
    import trafilatura  # noqa: PLC0415 - takes 0.4 s, and only processes that read pages need it

    found: Any = trafilatura.bare_extraction(
        html,
        url=url,
        with_metadata=True,
        include_comments=False,
        include_formatting=True,
        include_tables=True,
    )
    if found is None or not found.text:
        # A very short page has no recognisable main part, so take all of its text.
        return Page(title=getattr(found, "title", None) or "", text=trafilatura.html2txt(html), published=None)
    return Page(title=found.title or "", text=found.text, published=_day(found.date))


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
