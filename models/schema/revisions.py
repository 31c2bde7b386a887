"""The revisions of the tables are read from the names of the files that make them, without loading Alembic.

Our own tables have the revisions 0001, 0002 and so on. A pack of another distribution may have migrations of its own, a
branch of Alembic: that of the pack `distance` has the revisions distance_0001, distance_0002 and so on.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import psycopg
from sqlalchemy import text
from sqlalchemy.orm import Session

from turnloom.models.connections.database import CONNECT_TIMEOUT_S
from turnloom.models.runtime.settings import ROOT

Branches = Mapping[str, Path]
"""Pack -> the folder of its migrations."""

NO_BRANCHES: Branches = MappingProxyType({})
OURS = ""
"""The place of a pack's name for our own tables."""


def pending(url: str, branches: Branches = NO_BRANCHES) -> str | None:
    """Return why this database is not up to date, in a sentence; None if it is.

    A revision that this version does not know is a newer version's, with which this one can still work.
    """
    found = current(url)
    for pack, folder in {OURS: ROOT / "migrations" / "versions", **branches}.items():
        at, known = found.get(pack), known_revisions(folder, pack)
        if known and (at is None or at in known[:-1]):
            tables = f"the tables of the pack {pack} are" if pack else "the database is"
            return f"{tables} at revision {at}, this version needs {known[-1]}"
    return None


def unknown(found: Mapping[str, str], branches: Branches) -> str | None:
    """Return which pack's tables among those found cannot be migrated here, and what to do, in a sentence."""
    for pack, revision in found.items():
        tables = f"tables of the pack {pack!r} (revision {revision})"
        if pack != OURS and pack not in branches:
            return (
                f"the database has {tables}, which is not enabled here: install its package and name it in"
                f" TURNLOOM_PACKS; `turnloom migrate --drop {pack}` then drops them for good"
            )
        if pack != OURS and revision not in known_revisions(branches[pack], pack):
            return f"the database has {tables} of a newer version than the package here: install that version"
    return None


def current(url: str) -> dict[str, str]:
    """Return the database's revisions by pack; nothing if it is empty."""
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        table = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
        if table is None or table[0] is None:
            return {}
        return _by_pack(row[0] for row in connection.execute("SELECT version_num FROM alembic_version"))


def migrated_packs(db: Session) -> set[str]:
    """Return the packs of other distributions that have tables in this database."""
    return set(_by_pack(db.scalars(text("SELECT version_num FROM alembic_version")))) - {OURS}


def is_newer(revision: str | None) -> bool:
    """Return whether this version does not know the revision of our own tables."""
    return revision is not None and revision not in known_revisions()


def known_revisions(folder: Path = ROOT / "migrations" / "versions", pack: str = OURS) -> list[str]:
    """Return the revisions of our own tables, or of a pack's, the newest last."""
    prefix = f"{pack}_" if pack else ""
    return sorted(prefix + file.name.partition("_")[0] for file in folder.glob("[0-9]*.py"))


def _by_pack(revisions: Iterable[str]) -> dict[str, str]:
    return {revision.rpartition("_")[0]: revision for revision in revisions}
