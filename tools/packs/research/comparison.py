"""`research.compare`: compare what several sources say about a subject, and choose the most reliable value."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnloom.models.contracts.artifact import Comparison, ComparisonArtifact
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.belief import believe
from turnloom.models.contracts.field_descriptions import Described
from turnloom.models.contracts.knowledge import AttributeFact, Finding, Name, Provenance, Rule, Value, Word
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import tool

_GOES_ON = re.compile(r"\w|[.,]\d")
"""Matches if the word or number before it continues here."""


class Quoted(Described, BaseModel):
    """A source and its text."""

    # Ignore other fields, so that a plan can pass results of search, read and fetch as they are.
    model_config = ConfigDict(extra="ignore", frozen=True)

    document: str | None = None
    """Id of a document. Give either this or `url`."""
    url: str | None = None
    """Address of a page."""
    title: str = ""
    """Title of the source."""
    passage: str | None = None
    """Text of the source. Give either this or `text`."""
    text: str | None = None
    """Text of the source."""
    modified: date | None = None
    """Date of a document."""
    published: date | None = None
    """Date of a page."""

    @model_validator(mode="after")
    def says_something(self) -> Self:
        """Refuse a source without a name or without text."""
        if not self.name or not self.words:
            raise ValueError("a source needs a document or url, and a passage or text")
        return self

    @property
    def name(self) -> str:
        """The document or URL."""
        return self.document or self.url or ""

    @property
    def words(self) -> str:
        """The passage or text."""
        return self.passage or self.text or ""

    @property
    def day(self) -> date | None:
        """The date of the document or page."""
        return self.modified or self.published


class Claim(Contract):
    """A statement of one source about one subject."""

    subject: Name
    """The subject of the statement."""
    type: Word = "topic"
    """Kind of the subject, in one word."""
    attribute: Word
    """The attribute that the statement is about, in a word or two, such as `duration`."""
    value: Value
    """The value, as the source writes it."""
    source: str = Field(min_length=1, max_length=2_000)
    """The document or URL that says so. It must be one of `sources`."""


class ComparisonQuery(Contract):
    """Statements and their sources."""

    claims: list[Claim] = Field(min_length=1, max_length=20)
    """One claim for each source and value, also if the sources agree."""
    sources: list[Quoted] = Field(min_length=1, max_length=40, json_schema_extra={"x-by-reference": True})
    """The sources that were read, by reference: the `results` of research.search or entries of it, results of
    research.read or research.fetch."""

    @model_validator(mode="after")
    def sources_are_there(self) -> Self:
        """Refuse a claim whose source was not read."""
        for claim in self.claims:
            if not any(quoted.name == claim.source for quoted in self.sources):
                raise ValueError(f"{claim.source!r} is not among the sources")
        return self

    def quoted(self, claim: Claim) -> list[Quoted]:
        """Return the texts of a claim's source."""
        return [quoted for quoted in self.sources if quoted.name == claim.source]


class Said(Contract):
    """A value and the source that states it."""

    source: str
    """The document or URL."""
    title: str
    """Title of the source."""
    day: date | None
    """Date of the source."""
    value: Value
    """The value that the source states."""
    is_found: bool
    """Whether the value is in the text of the source as written. If not, it is an interpretation of the text."""


class Matter(Contract):
    """All statements about one attribute of a subject."""

    subject: Name
    """The subject of the statements."""
    type: Word
    """Kind of the subject."""
    attribute: Word
    """The attribute that the statements are about."""
    value: Value | None
    """The most reliable value; null if the sources disagree and no rule decides."""
    rule: Rule
    """`agreed` if there is only one value. Otherwise the rule that decided: more independent sources (corroboration), a
    value found in the text of its source (trust), the newer source (recency); or `unresolved`."""
    said: list[Said]
    """All sources, those with that value first."""


class Compared(Contract):
    """The compared statements of all sources."""

    matters: list[Matter]
    """One entry for each subject and attribute, in the order of the claims."""


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
    """Compare what several sources say about the same subject, and choose a value if they disagree."""
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


def _fact(claim: Claim, read: list[Quoted], place: int, now: datetime, context: ToolContext) -> AttributeFact:
    source = Provenance(
        turn=str(context.turn_id),
        step=context.step_id,
        path=str(place),
        tool="research.compare",
        origin=claim.source,
        trust="outside" if any(_stands_in(quoted, claim.value) for quoted in read) else "model",
        at=now,
        as_of=_moment(read[0].day),
    )
    return AttributeFact(
        subject=claim.subject, attribute=claim.attribute, value=claim.value, confidence=1.0, source=source
    )


def _said(fact: AttributeFact, quoted: Quoted) -> Said:
    return Said(
        source=quoted.name,
        title=quoted.title,
        day=quoted.day,
        value=fact.value,
        is_found=fact.source.trust == "outside",
    )


def _stands_in(quoted: Quoted, value: Value) -> bool:
    """Whether a source contains a value, ignoring case and spacing, and not as a part of another word."""
    wanted, words = _plain(str(value)), _plain(quoted.words)
    start = words.find(wanted)
    while start >= 0 and not _is_whole(words, start, start + len(wanted)):
        start = words.find(wanted, start + 1)
    return start >= 0


def _is_whole(words: str, start: int, end: int) -> bool:
    """Whether the text from `start` to `end` is not a part of a longer word or number."""
    before = words[start - 1 : start]
    return not (before.isalnum() or before in ("_", ".")) and not _GOES_ON.match(words, end)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _moment(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)
