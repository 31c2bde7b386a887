"""Loop: a turn may be planned more than once.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("revision", sa.Integer(), server_default="0", nullable=False))
    op.add_column("turns", sa.Column("tries", sa.Integer(), server_default="0", nullable=False))
    op.add_column("turns", sa.Column("again", sa.Text(), nullable=True))
    op.add_column("turns", sa.Column("bound", sa.Text(), nullable=True))
    op.add_column("turns", sa.Column("begun_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("turns", sa.Column("planning_ms", sa.Double(), server_default="0", nullable=False))
    # Turns from before this revision of the schema: one plan, and one claim that counts.
    op.execute("UPDATE turns SET begun_at = planning_at WHERE planning_at IS NOT NULL")
    op.execute(
        "UPDATE turns t SET revision = p.revision"
        " FROM (SELECT turn_id, max(revision) AS revision FROM plans GROUP BY turn_id) p WHERE p.turn_id = t.id"
    )
    op.execute(
        "UPDATE turns SET planning_ms = extract(epoch FROM planned_at - planning_at) * 1000"
        " WHERE planned_at IS NOT NULL AND planning_at IS NOT NULL"
    )


def downgrade() -> None:
    for column in ("planning_ms", "begun_at", "bound", "again", "tries", "revision"):
        op.drop_column("turns", column)
