"""Render a reply and its artifacts as messages of a channel, in its markup and within its length.

In: a reply, the name of a channel.  Out: one or more messages.  Pure.  Values are written as they are. Text that the
channel would take for markup is escaped if the channel has an escape for it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from turnloom.models.contracts.artifact import Artifact, Card, Comparison, Itinerary, Link, Table
from turnloom.models.contracts.turn import Reply
from turnloom.planner.reply.text_split import split

Channel = Literal["plain", "markdown", "slack", "whatsapp", "telegram", "sms"]

_NOTHING = "-"
_PARTS = ("morning", "afternoon", "evening", "weather")


def _as_it_is(text: str) -> str:
    return text


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", _entities(text))


@dataclass(frozen=True, slots=True)
class Dialect:
    """The markup of a channel."""

    limit: int | None = None
    """Most UTF-16 units of one message, as the channels count; None: no limit."""
    escape: Callable[[str], str] = _as_it_is
    bold: str = "{}"
    link: str = "{label}: {url}"
    table: Literal["aligned", "pipes", "lines"] = "lines"
    """Aligned columns need a fixed-width font, and pipes need Markdown. Lines fit a phone."""


DIALECTS: dict[Channel, Dialect] = {
    "plain": Dialect(table="aligned"),
    # For the web. HTML in values is escaped, so the Markdown is safe to show.
    "markdown": Dialect(escape=_markdown, bold="**{}**", link="[{label}](<{url}>)", table="pipes"),
    "slack": Dialect(4_000, _entities, "*{}*", "<{url}|{label}>"),
    "whatsapp": Dialect(4_096, bold="*{}*"),
    "telegram": Dialect(4_096),
    "sms": Dialect(1_600),
}


def render_reply(reply: Reply, channel: Channel) -> list[str]:
    """Return a reply as messages of a channel: its text, then its artifacts."""
    dialect = DIALECTS[channel]
    blocks = [dialect.escape(reply.text), *(render(artifact, channel) for artifact in reply.artifacts)]
    whole = "\n\n".join(block for block in blocks if block)
    return [whole] if dialect.limit is None else list(split(whole, dialect.limit))


def render(artifact: Artifact, channel: Channel) -> str:
    """Return an artifact as text."""
    dialect = DIALECTS[channel]
    lines = _lines(artifact.data, artifact.title, dialect)
    return "\n".join(lines)


def _lines(data: Any, title: str, dialect: Dialect) -> Iterator[str]:
    match data:
        case Link():
            yield _link(data, dialect)
            return
    yield dialect.bold.format(dialect.escape(title))
    match data:
        case Table():
            shown = data.rows[: data.preview]
            yield from _table(data.columns, shown, dialect)
            if len(shown) < len(data.rows):
                yield f"… +{len(data.rows) - len(shown)}"
        case Comparison():
            columns = ["", *(str(option.get("name", "")) for option in data.options)]
            rows = [[criterion, *(option.get(criterion) for option in data.options)] for criterion in data.criteria]
            yield from _table(columns, rows, dialect)
        case Itinerary():
            yield from _itinerary(data, dialect)
        case Card():
            if data.subtitle:
                yield _fact("", data.subtitle, dialect)
            yield from (_fact(fact.label, fact.value, dialect) for fact in data.facts)


def _link(link: Link, dialect: Dialect) -> str:
    """Write a link. Only a link to the web can be followed; any other is shown as text."""
    if link.url.startswith(("https://", "http://")):
        return dialect.link.format(label=dialect.escape(link.label), url=link.url)
    return dialect.escape(f"{link.label}: {link.url}")


def _itinerary(trip: Itinerary, dialect: Dialect) -> Iterator[str]:
    for number, day in enumerate(trip.days, 1):
        yield dialect.bold.format(f"{number}{f' · {day.date}' if day.date else ''}")
        yield from (_fact(part, getattr(day, part), dialect) for part in _PARTS if getattr(day, part))
    yield from (dialect.escape(line) for line in (trip.stay, *trip.notes) if line)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], dialect: Dialect) -> Iterator[str]:
    heads = [dialect.escape(column) for column in columns]
    cells = [[dialect.escape(_cell(value)) for value in row] for row in rows]
    match dialect.table:
        case "aligned":
            yield from _aligned([heads, *cells])
        case "pipes":
            yield ""
            yield from (f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *cells))
        case "lines":
            for number, (first, *others) in enumerate(cells, 1):
                facts = [f"{head}: {cell}" if head else cell for head, cell in zip(heads[1:], others, strict=False)]
                yield f"{number}. {' · '.join([dialect.bold.format(first), *facts])}"


def _aligned(lines: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=False)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()


def _fact(name: str, value: Any, dialect: Dialect) -> str:
    label = dialect.escape(name.replace("_", " ").capitalize())
    return f"- {label}: {dialect.escape(_cell(value))}" if name else dialect.escape(_cell(value))


def _cell(value: Any) -> str:
    match value:
        case None | "":
            return _NOTHING
        case bool():
            return "✓" if value else "✗"
        case float():
            return str(int(value)) if value.is_integer() else f"{value:.2f}"
        case list():
            return ", ".join(map(_cell, value))
    return " ".join(str(value).split())
