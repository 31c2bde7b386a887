"""Readiness checks tell whether the ledger can take a turn."""

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from turnloom.models.connections.row_security import TENANT_ROLE, lacking_role
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions
from turnloom.models.schema.policies import MAY_SERVE


def lacking(db: Session) -> str | None:
    """Return why this role cannot record a turn, in a sentence; None if it can.

    `models.schema.revisions.pending` checks the revision of the tables.
    """
    if db.scalar(select(func.pg_is_in_recovery())) or db.scalar(
        select(func.current_setting("transaction_read_only") == "on")
    ):
        return "Postgres only reads: it is a standby, or set to read-only; connect to the primary"
    if reason := unmigrated(db):
        return reason
    if not db.scalar(select(func.has_table_privilege("turns", "INSERT"))):
        return "this role may not write turns; run `turnloom migrate` for it"
    if settings().row_security and not db.scalar(text(MAY_SERVE), {"role": TENANT_ROLE}):
        return str(lacking_role())
    return None


def unmigrated(db: Session) -> str | None:
    """Return what the database lacks for this version, in a sentence; None if it lacks nothing."""
    if db.scalar(select(func.to_regclass("turns"))) is None:
        return "the database is empty; run `turnloom migrate`"
    if db.scalar(select(func.to_regnamespace(functions.schema()))) is None:
        return f"the database has no functions of this version ({functions.schema()}); run `turnloom migrate`"
    return None
