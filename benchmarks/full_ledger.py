"""Fill the ledger with copies of a turn that was run, each in its own conversation."""

import psycopg
from psycopg import sql

_OF_CONVERSATION = {"conversations": "id", "audit": "conversation_id"}
_TABLES = ("conversations", "turns", "plans", "fragments", "steps", "turn_events", "replies", "audit")
_IDS = {"turn_id", "conversation_id"}
_MODEL = "SELECT id, conversation_id FROM turns WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1"
_BLOCK = 50_000


def fill(superuser_url: str, turns: int) -> None:
    """Store copies of the turn that finished last, until the ledger has `turns` turns.

    The turn must be the only one of its conversation.
    """
    with psycopg.connect(superuser_url, autocommit=True) as db:
        # The copies are as valid as the original, so triggers and foreign keys need not check each one.
        db.execute("SET session_replication_role = replica")
        row = db.execute("SELECT count(*) FROM turns").fetchone()
        model = db.execute(_MODEL).fetchone()
        assert row is not None
        assert model is not None
        for first in range(row[0], turns, _BLOCK):
            for table in _TABLES:
                _copy(db, table, model, (first, min(first + _BLOCK, turns) - 1))
        db.execute("VACUUM (ANALYZE)")
        db.execute("CHECKPOINT")


def _copy(db: psycopg.Connection, table: str, model: tuple[object, object], numbers: tuple[int, int]) -> None:
    turn_id, conversation_id = model
    columns = db.execute(
        "SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema = 'public'"
        " AND table_name = %s AND is_generated = 'NEVER'",
        (table,),
    ).fetchall()
    key, value = ("id" if table == "turns" else "turn_id", turn_id)
    if table in _OF_CONVERSATION:
        key, value = _OF_CONVERSATION[table], conversation_id
    is_id = _IDS | {key}
    query = sql.SQL(
        "INSERT INTO {table} ({names})"
        " SELECT {values} FROM {table} AS model, generate_series(%s::int, %s::int) AS n WHERE model.{key} = %s"
    )
    names = [sql.Identifier(name) for name, _ in columns]
    # The ids ascend like our own, so that indexes grow at one end.
    copied = sql.SQL("(lpad(to_hex(n), 12, '0') || substr(md5(n::text), 13))::uuid::{}")
    values = [
        copied.format(sql.Identifier(kind)) if name in is_id else sql.SQL("model.{}").format(sql.Identifier(name))
        for name, kind in columns
    ]
    comma = sql.SQL(", ")
    statement = query.format(
        table=sql.Identifier(table), names=comma.join(names), values=comma.join(values), key=sql.Identifier(key)
    )
    db.execute(statement, (*numbers, value))
