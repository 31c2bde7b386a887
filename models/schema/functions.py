"""The functions of the hot path; each version of them has its own schema.

Their SQL in ledger/transitions/, and the statements that call them, name the schema `hot`. In the database its name is
`hot_` and a digest of that SQL, because processes of two versions run side by side during an upgrade, each with its own
functions.
"""

import hashlib
import re
from functools import lru_cache
from pathlib import Path

import psycopg
from psycopg import sql

FOLDER = Path(__file__).parents[1] / "ledger" / "transitions"
KEPT = 2
"""Versions that a database keeps: the one it was last migrated to, and the one before."""

_NAME = re.compile(r"\bhot\.")
_INSTALLED = r"""
    SELECT nspname FROM pg_namespace WHERE nspname ~ '^hot(_[0-9a-f]{12})?$'
     ORDER BY obj_description(oid, 'pg_namespace') DESC NULLS LAST
"""


@lru_cache
def schema(folder: Path = FOLDER) -> str:
    """Return the name of the schema that holds these functions."""
    return f"hot_{hashlib.sha256(_source(folder).encode()).hexdigest()[:12]}"


@lru_cache(maxsize=1024)
def of_this_version(query: str) -> bytes:
    """Return a statement with `hot.…` replaced by this version's schema."""
    return _renamed(query, schema())


def install(owner: psycopg.Connection, folder: Path = FOLDER) -> None:
    """Create these functions where they are missing, and drop the versions that are no longer kept."""
    name = schema(folder)
    if name not in installed(owner):
        owner.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        owner.execute(_renamed(_source(folder), name))
    # The comment says which versions are the latest, even after a return to an older one.
    now = owner.execute("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')").fetchone()
    assert now is not None
    comment = sql.SQL("COMMENT ON SCHEMA {} IS {}")
    owner.execute(comment.format(sql.Identifier(name), sql.Literal(f"last migrated to at {now[0]} UTC")))
    drop(owner, installed(owner)[KEPT:])


def installed(db: psycopg.Connection) -> list[str]:
    """Return the schemas of all versions that this database has, the latest first."""
    return [name for (name,) in db.execute(_INSTALLED)]


def drop(owner: psycopg.Connection, schemas: list[str]) -> None:
    """Drop versions of the functions."""
    for name in schemas:
        owner.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def _renamed(text: str, schema: str) -> bytes:
    return _NAME.sub(f"{schema}.", text).encode()


def _source(folder: Path) -> str:
    return "".join(part.read_text("utf-8") for part in sorted(folder.glob("*.sql")))
