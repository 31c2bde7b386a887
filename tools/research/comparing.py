"""`research.compare`: what several sources say about the same, side by side, and which of it to go by."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from models.believing import believe
from models.contracts.artifact import Comparison, ComparisonArtifact
from models.contracts.base import Contract
from models.contracts.knowledge import Fact, Finding, Name, Rule, Source, Value, Word
from tools.context import ToolContext
from tools.registry import tool

_GOES_ON = re.compile(r"\w|[.,]\d")
"""What makes a word or a number longer than it stood to its left."""


class Quoted(BaseModel):
    """A source with what it says."""

    # What search, read and fetch returned can be handed on as it is.
    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)

    document: str | None = None
    """Id of a document; or `url`."""
    url: str | None = None
    """Address of a page."""
    title: str = ""
    """Its title."""
    passage: str | None = None
    """What it says; or `text`."""
    text: str | None = None
    """What it says."""
    modified: date | None = None
    """The day of which a document is."""
    published: date | None = None
    """The day of which a page is."""

    @model_validator(mode="after")
    def says_something(self) -> Self:
        """Refuse a source without a name or without words."""
        if not self.name or not self.words:
            raise ValueError("a source has a document or url, and a passage or text")
        return self

    @property
    def name(self) -> str:
        """Document or URL."""
        return self.document or self.url or ""

    @property
    def words(self) -> str:
        """What it says."""
        return self.passage or self.text or ""

    @property
    def day(self) -> date | None:
        """The day of which it is."""
        return self.modified or self.published


class Claim(Contract):
    """A statement of one source about one subject."""

    subject: Name
    """What it is about."""
    type: Word = "topic"
    """What the subject is, in one word."""
    attribute: Word
    """What is said of it, in a word or two, such as `duration`."""
    value: Value
    """The value as the source writes it."""
    source: str = Field(min_length=1, max_length=2_000)
    """Who says so: a document or URL, one of `sources`."""


class ComparisonQuery(Contract):
    """Statements and their sources."""

    claims: list[Claim] = Field(min_length=1, max_length=20)
    """One for each source and value, also where they agree."""
    sources: list[Quoted] = Field(min_length=1, max_length=40)
    """What was read, by reference: the `results` of research.search or entries of it, results of research.read or
    research.fetch."""

    @model_validator(mode="after")
    def sources_are_there(self) -> Self:
        """Refuse a claim whose source was not read."""
        for claim in self.claims:
            if not any(quoted.name == claim.source for quoted in self.sources):
                raise ValueError(f"{claim.source!r} is not among the sources")
        return self

    def quoted(self, claim: Claim) -> list[Quoted]:
        """Return what was read of a claim's source."""
        return [quoted for quoted in self.sources if quoted.name == claim.source]


class Said(Contract):
    """A source of a value."""

    source: str
    """Document or URL."""
    title: str
    """Its title."""
    day: date | None
    """The day of which it is."""
    value: Value
    """What it says."""
    is_found: bool
    """Whether the value stands in the source as it is written; else somebody read it out of it."""


class Matter(Contract):
    """All statements about one attribute of a subject."""

    subject: Name
    """What it is about."""
    type: Word
    """What the subject is."""
    attribute: Word
    """What is said of it."""
    value: Value | None
    """The value to go by; null where the sources disagree and no rule decides."""
    rule: Rule
    """`agreed` where there is one value only; else what decided: more independent sources (corroboration), words that
    stand in the source (trust), the newer source (recency); or `unresolved`."""
    said: list[Said]
    """Every source, those of that value first."""


class Compared(Contract):
    """The statements of all sources, side by side."""

    matters: list[Matter]
    """In the order of the claims."""


def _comparison(compared: Compared) -> ComparisonArtifact:
    options: dict[str, dict[str, Any]] = {}
    for matter in compared.matters:
        for said in matter.said:
            options.setdefault(said.source, {"name": said.title or said.source})[_label(matter)] = said.value
    title = ", ".join(dict.fromkeys(matter.subject for matter in compared.matters))
    criteria = list(dict.fromkeys(map(_label, compared.matters)))
    return ComparisonArtifact(title=title, data=Comparison(criteria=criteria, options=list(options.values())))


def _label(matter: Matter) -> str:
    return f"{matter.subject}: {matter.attribute}"


def _findings(compared: Compared) -> Iterator[Finding]:
    for place, matter in enumerate(compared.matters):
        for number, said in enumerate(matter.said):
            yield Finding(
                type=matter.type,
                name=matter.subject,
                attributes={matter.attribute: said.value},
                path=f"matters[{place}].said[{number}]",
                origin=said.source[:200],
                as_of=_moment(said.day),
                trust="outside" if said.is_found else "model",
            )


@tool("research.compare", effect="read", inline=True, artifact=_comparison, facts=_findings, is_evidence=False)
def compare(query: ComparisonQuery, context: ToolContext) -> Compared:
    """Lay side by side what sources say about the same, and say which value to go by where they disagree."""
    matters: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in query.claims:
        matters[claim.subject.casefold(), claim.attribute.casefold()].append(claim)
    return Compared(matters=[_matter(claims, query, context) for claims in matters.values()])


def _matter(claims: list[Claim], query: ComparisonQuery, context: ToolContext) -> Matter:
    now = datetime.now(UTC)
    read = [query.quoted(claim) for claim in claims]
    belief = believe(_fact(claim, read[place], place, now, context) for place, claim in enumerate(claims))
    first = claims[0]
    return Matter(
        subject=first.subject,
        type=first.type,
        attribute=first.attribute,
        value=belief.value,
        rule=belief.rule,
        said=[_said(fact, read[int(fact.source.path)][0]) for fact in belief.facts],
    )


def _fact(claim: Claim, read: list[Quoted], place: int, now: datetime, context: ToolContext) -> Fact:
    source = Source(
        turn=str(context.turn_id),
        step=context.step_id,
        path=str(place),
        tool="research.compare",
        origin=claim.source,
        trust="outside" if any(_stands_in(quoted, claim.value) for quoted in read) else "model",
        at=now,
        as_of=_moment(read[0].day),
    )
    return Fact(subject=claim.subject, attribute=claim.attribute, value=claim.value, confidence=1.0, source=source)


def _said(fact: Fact, quoted: Quoted) -> Said:
    return Said(
        source=quoted.name,
        title=quoted.title,
        day=quoted.day,
        value=fact.value,
        is_found=fact.source.trust == "outside",
    )


def _stands_in(quoted: Quoted, value: Value) -> bool:
    """Tell whether a source has a value, whatever its case and spacing, and not as a part of another word."""
    wanted, words = _plain(str(value)), _plain(quoted.words)
    start = words.find(wanted)
    while start >= 0 and not _is_whole(words, start, start + len(wanted)):
        start = words.find(wanted, start + 1)
    return start >= 0


def _is_whole(words: str, start: int, end: int) -> bool:
    """Tell whether what stands there is neither a part of a word nor of a number."""
    before = words[start - 1 : start]
    return not (before.isalnum() or before in ("_", ".")) and not _GOES_ON.match(words, end)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _moment(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)
