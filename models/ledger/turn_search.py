"""Turn search finds turns by what they are about, how they ended, and whose they are."""

import re
from collections.abc import Mapping
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.ledger.transitions import call_rows
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.turns import UNSPACED, TurnRow

_RUN = re.compile(f"[{UNSPACED}]+")


def find(db: Session, tenant_id: UUID, asked: Mapping[str, str], limit: int) -> list[tuple[TurnRow, str | None]]:
    """Return turns with the texts of their replies, the last accepted first.

    `asked`: `status, agent, channel, account, tool, error, user, text, since, until`, those that count; the last two
    are ids, of the first turn that counts and of the first later one that does not.
    """
    asked = {name: _words(value) if name == "text" else value for name, value in asked.items()}
    found = call_rows(db, "find_turns", tenant=tenant_id, asked=Jsonb(asked), limit=limit)
    query = (
        select(TurnRow, ReplyRow.text)
        .outerjoin(ReplyRow, (ReplyRow.turn_id == TurnRow.id) & (ReplyRow.tenant_id == TurnRow.tenant_id))
        .where(TurnRow.id.in_([turn_id for (turn_id,) in found]), TurnRow.tenant_id == tenant_id)
        .order_by(TurnRow.id.desc())
    )
    return [(turn, text) for turn, text in db.execute(query)]


def _words(text: str) -> str:
    """Write what was typed as words. Characters of a script without spaces are words that follow one another."""
    return _RUN.sub(lambda run: f' "{" ".join(run[0])}" ', text.replace('"', " "))
