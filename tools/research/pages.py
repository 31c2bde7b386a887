"""From HTML to the text that people come for: without menus, advertisements and scripts."""

from dataclasses import dataclass
from datetime import date
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page, read."""

    title: str
    text: str
    """Markdown."""
    published: date | None
    """The day that the page itself names."""


def read_html(html: bytes | str, url: str | None = None) -> Page:
    """Read a page; its text is empty where there is none."""
    import trafilatura  # noqa: PLC0415 - 0.4 s: only processes that read pages pay for it

    found: Any = trafilatura.bare_extraction(
        html,
        url=url,
        with_metadata=True,
        include_comments=False,
        include_formatting=True,
        include_tables=True,
    )
    if found is None or not found.text:
        # A page of a few words has no main part to be told from the rest.
        return Page(title=getattr(found, "title", None) or "", text=trafilatura.html2txt(html), published=None)
    return Page(title=found.title or "", text=found.text, published=_day(found.date))


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
