"""Documents are loaded, searched and read here.

A tenant sees its own documents; if it has none, it sees those of everyone. A search finds a passage by any word of the
query:

    score  = sum of share(w) * weight(w) over the words w in it, divided by the sum of weight(w) over those in any
    weight = ln(1 + (N - n + 0.5) / (n + 0.5)), where n of the N passages have the word: BM25's
    share  = ts_rank of the word: it grows with each further mention, more slowly each time; a heading counts more

So a passage that has every word in its heading, and often, scores 1. Each language is parsed and weighed by itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import CTE, ColumnElement, Select, case, cast, delete, func, select, text, true
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, REAL, TSQUERY, insert
from sqlalchemy.orm import Session

from turnloom.models.errors import Invalid
from turnloom.models.tables.base import EVERYONE
from turnloom.tools.packs.research.tables import DocumentRow, PassageRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassage:
    """A passage to load."""

    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document to load."""

    id: str
    collection: str
    title: str
    language: str
    modified: date
    digest: str
    passages: Sequence[NewPassage]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageHit:
    """A passage as a search finds it."""

    document: str
    title: str
    section: str
    text: str
    modified: date
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A document with its size."""

    id: str
    title: str
    language: str
    modified: date
    passages: int


_PUT_PASSAGES = text("""
    INSERT INTO document_passages (tenant_id, document, number, section, text, language, words)
    SELECT of.tenant_id, of.id, number, section, passage, of.language,
        setweight(to_tsvector(CAST(of.language AS regconfig), section), 'A')
        || setweight(to_tsvector(CAST(of.language AS regconfig), of.title), 'B')
        || to_tsvector(CAST(of.language AS regconfig), passage)
    FROM documents AS of
    CROSS JOIN unnest(CAST(:sections AS text[]), CAST(:texts AS text[]))
        WITH ORDINALITY AS given(section, passage, number)
    WHERE of.tenant_id = :owner AND of.id = :document
""")

# The text of a vector quotes a lexeme as queries do, so that it can become a query.
_TERMS = text("""
    SELECT CAST(array_to_tsvector(ARRAY[lexeme]) AS text)
    FROM unnest(to_tsvector(CAST(:language AS regconfig), :query))
""")

_RANKS = cast([0.6, 0.6, 0.6, 1.0], ARRAY(REAL))
"""The weights of a mention in the text, of a class that is not used, in the title, and in a heading."""


def load(db: Session, owner: UUID, document: NewDocument) -> None:
    """Load a document. It replaces the one with the same id.

    The document's own row is written first: another load of the same document waits for it.
    """
    row = {name: getattr(document, name) for name in ("id", "collection", "title", "language", "modified", "digest")}
    row["passages"] = len(document.passages)
    new = insert(DocumentRow).values(tenant_id=owner, **row)
    put = {**{name: new.excluded[name] for name in row if name != "id"}, "loaded_at": func.clock_timestamp()}
    db.execute(new.on_conflict_do_update(index_elements=[DocumentRow.tenant_id, DocumentRow.id], set_=put))
    db.execute(delete(PassageRow).where(PassageRow.tenant_id == owner, PassageRow.document == document.id))
    given = {
        "owner": owner,
        "document": document.id,
        "sections": [passage.section for passage in document.passages],
        "texts": [passage.text for passage in document.passages],
    }
    db.execute(_PUT_PASSAGES, given)


def digests(db: Session, owner: UUID, collection: str) -> dict[str, str]:
    """Return the digests of a collection's documents by id."""
    query = select(DocumentRow.id, DocumentRow.digest)
    query = query.where(DocumentRow.tenant_id == owner, DocumentRow.collection == collection)
    return {row.id: row.digest for row in db.execute(query)}


def keep_only(db: Session, owner: UUID, collection: str, kept: Iterable[str]) -> int:
    """Remove the documents of a collection that are not in `kept`; return how many were removed."""
    is_gone = DocumentRow.id.not_in(list(kept))
    query = delete(DocumentRow).where(DocumentRow.tenant_id == owner, DocumentRow.collection == collection, is_gone)
    gone = list(db.scalars(query.returning(DocumentRow.id)))
    db.execute(delete(PassageRow).where(PassageRow.tenant_id == owner, PassageRow.document.in_(gone)))
    return len(gone)


def check_language(db: Session, language: str) -> None:
    """Refuse a language that Postgres has no text search configuration for.

    Raises:
        Invalid: there is none; the message names those there are.
    """
    known = list(db.scalars(text("SELECT cfgname FROM pg_ts_config ORDER BY cfgname")))
    if language not in known:
        raise Invalid(f"there is no language {language!r}; there are: {', '.join(known)}")


def search(db: Session, tenant_id: UUID, query: str, limit: int) -> list[PassageHit]:
    """Return the passages that match the query best, the best first."""
    owner = owner_of(db, tenant_id)
    languages = db.scalars(select(DocumentRow.language).where(DocumentRow.tenant_id == owner).distinct())
    found: list[PassageHit] = []
    for language in sorted(languages):
        terms = list(db.scalars(_TERMS, {"language": language, "query": query}))
        if terms:
            best = _best(owner, language, terms).limit(limit).cte("best")
            found += [PassageHit(**row) for row in db.execute(_shown(owner, best)).mappings()]
    return sorted(found, key=lambda passage: -passage.score)[:limit]


def read(db: Session, tenant_id: UUID, document: str) -> tuple[DocumentRow, list[NewPassage]] | None:
    """Return a document with its passages in order; None if the tenant sees no document with that id."""
    owner = owner_of(db, tenant_id)
    row = db.get(DocumentRow, (owner, document))
    if row is None:
        return None
    query = select(PassageRow.section, PassageRow.text)
    query = query.where(PassageRow.tenant_id == owner, PassageRow.document == document).order_by(PassageRow.number)
    return row, [NewPassage(section=section, text=passage) for section, passage in db.execute(query)]


def listed(db: Session, tenant_id: UUID) -> list[Listed]:
    """Return the documents that a tenant sees, by id."""
    query = select(DocumentRow).where(DocumentRow.tenant_id == owner_of(db, tenant_id)).order_by(DocumentRow.id)
    return [
        Listed(id=row.id, title=row.title, language=row.language, modified=row.modified, passages=row.passages)
        for row in db.scalars(query)
    ]


def owner_of(db: Session, tenant_id: UUID) -> UUID:
    """Return the owner of the documents that a tenant sees: itself, or everyone if it has none."""
    owns = select(DocumentRow.id).where(DocumentRow.tenant_id == tenant_id).limit(1)
    return EVERYONE if db.scalar(owns) is None else tenant_id


def _best(owner: UUID, language: str, terms: Sequence[str]) -> Select[Any]:
    """Return the query for passages by score. One pass over the passages that have any term ranks them by each term."""
    is_there = (PassageRow.tenant_id == owner, PassageRow.language == language)
    shares = [func.ts_rank(_RANKS, PassageRow.words, cast(term, TSQUERY)) for term in terms]
    columns = [share.label(f"share_{place}") for place, share in enumerate(shares)]
    has_any = PassageRow.words.bool_op("@@")(cast(" | ".join(terms), TSQUERY))
    # Both are computed once; otherwise Postgres would count again for each passage.
    matching = select(PassageRow.document, PassageRow.number, *columns).where(*is_there, has_any)
    hits = matching.cte("hits").prefix_with("MATERIALIZED")
    ranked = [hits.c[column.name] for column in columns]
    stored = select(func.sum(DocumentRow.passages))
    stored = stored.where(DocumentRow.tenant_id == owner, DocumentRow.language == language)
    counted = [func.count().filter(share > 0).label(share.name) for share in ranked]
    counting = select(stored.scalar_subquery().label("stored"), *counted).select_from(hits)
    counts = counting.cte("counts").prefix_with("MATERIALIZED")
    weights = [_weight(counts.c.stored, counts.c[share.name]) for share in ranked]
    score = sum(share * weight for share, weight in zip(ranked, weights, strict=True)) / sum(weights)
    scored = select(hits.c.document, hits.c.number, cast(score, DOUBLE_PRECISION).label("score"))
    best_first = (text("score DESC"), hits.c.document, hits.c.number)
    return scored.select_from(hits.join(counts, true())).order_by(*best_first)


def _shown(owner: UUID, best: CTE) -> Select[Any]:
    """Return the query for the columns that a search shows of the best passages."""
    is_it = (PassageRow.document == best.c.document) & (PassageRow.number == best.c.number)
    columns = (DocumentRow.title, PassageRow.section, PassageRow.text, DocumentRow.modified)
    query = select(best.c.document, *columns, best.c.score)
    query = query.join_from(best, PassageRow, is_it).join(DocumentRow, DocumentRow.id == best.c.document)
    query = query.where(PassageRow.tenant_id == owner, DocumentRow.tenant_id == owner)
    return query.order_by(best.c.score.desc(), best.c.document, best.c.number)


def _weight(stored: ColumnElement[Any], mentions: ColumnElement[Any]) -> ColumnElement[Any]:
    return case((mentions == 0, 0.0), else_=func.ln(1 + (stored - mentions + 0.5) / (mentions + 0.5)))
