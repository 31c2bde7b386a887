"""Sign-ins at the console, and indexes of final turns to search them by.

Revision ID: 0041
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0038"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_IS_FINAL = "finished_at IS NOT NULL"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORDS = f"to_tsvector('simple', regexp_replace(message, '([{_UNSPACED}])', ' \\1 ', 'g'))"
_OF_TURNS = {
    "approval": ("tenant_id, id", "status = 'waiting_approval'"),
    "final": ("tenant_id, id", _IS_FINAL),
    "status": ("tenant_id, status, id", f"{_IS_FINAL} AND status <> 'succeeded'"),
    "agent": ("tenant_id, agent, id", _IS_FINAL),
    "channel": ("tenant_id, split_part(channel, ':', 1), id", _IS_FINAL),
    "error": ("tenant_id, (error ->> 'code'), id", f"{_IS_FINAL} AND (error ->> 'code') IS NOT NULL"),
    "user": ("tenant_id, (person ->> 'id'), id", f"{_IS_FINAL} AND (person ->> 'id') IS NOT NULL"),
}
_OF_WORDS = f"turns_words_idx ON turns USING gin ({_WORDS}) WHERE {_IS_FINAL}"
_OF_TOOLS = "plans_tools_idx ON plans USING gin (jsonb_path_query_array(document, '$.steps[*].tool'))"


def upgrade() -> None:
    op.create_table(
        "console_sessions",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", _TIME, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        *(_ends_with("keys", "key_id"), _ends_with("tenants", "tenant_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("console_sessions_pkey")),
    )
    for column in ("tenant_id", "key_id"):
        op.create_index(op.f(f"console_sessions_{column}_idx"), "console_sessions", [column])
    # Nobody waits while they are made.
    with op.get_context().autocommit_block():
        for name, (columns, condition) in _OF_TURNS.items():
            _make(f"turns_{name}_idx ON turns ({columns}) WHERE {condition}")
        _make(_OF_WORDS)
        _make(_OF_TOOLS)
        # How frequent words are decides whether an index of them is worth it. Postgres does not learn it from a partial
        # index, and only once it has looked.
        op.get_bind().exec_driver_sql(f"CREATE STATISTICS IF NOT EXISTS turns_words ON ({_WORDS}) FROM turns")
        op.execute("ANALYZE turns, plans")


def _make(index: str) -> None:
    # One that was broken off is left invalid.
    op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index.partition(' ')[0]}")
    op.get_bind().exec_driver_sql(f"CREATE INDEX CONCURRENTLY {index}")


def _ends_with(table: str, column: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"console_sessions_{column}_fkey")
    return sa.ForeignKeyConstraint([column], [f"{table}.id"], name=name, ondelete="CASCADE")


def downgrade() -> None:
    op.execute("DROP STATISTICS IF EXISTS turns_words")
    op.drop_index("plans_tools_idx", table_name="plans")
    for name in ("words", *reversed(_OF_TURNS)):
        op.drop_index(f"turns_{name}_idx", table_name="turns")
    op.drop_table("console_sessions")
