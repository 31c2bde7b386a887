"""The revisions of the tables are read from the names of the files in migrations/, without loading Alembic."""

import psycopg

from turnloom.models.connections.database import CONNECT_TIMEOUT_S
from turnloom.models.runtime.settings import ROOT


def pending(url: str) -> str | None:
    """Return why this database is not up to date, in a sentence; None if it is.

    A revision that this version does not know is a newer version's, with which this one can still work.
    """
    found, known = current(url), known_revisions()
    if found == known[-1] or is_newer(found):
        return None
    return f"the database is at revision {found}, this version needs {known[-1]}"


def current(url: str) -> str | None:
    """Return the database's revision; None if it is empty."""
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        table = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
        if table is None or table[0] is None:
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else None


def is_newer(revision: str | None) -> bool:
    """Return whether this version does not know the revision."""
    return revision is not None and revision not in known_revisions()


def known_revisions() -> list[str]:
    """Return the revisions of this version, the newest last."""
    return sorted(file.name.partition("_")[0] for file in (ROOT / "migrations" / "versions").glob("[0-9]*.py"))
