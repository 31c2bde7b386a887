"""The ledger: tenants, conversations, turns, plans, steps and what is kept of them.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "conversation_id", "seq", name=op.f("audit_pkey")),
    )
    op.create_table(
        "events",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("data", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.PrimaryKeyConstraint("turn_id", "seq", "tenant_id", name=op.f("events_pkey")),
    )
    op.create_table(
        "fragments",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("needs", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("steps", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("queue", sa.Text(), nullable=True),
        sa.Column("inline", sa.Boolean(), nullable=False),
        sa.Column("expression", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("turn_id", "generation", "number", "tenant_id", name=op.f("fragments_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "merged_messages",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("body_hash", sa.LargeBinary(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("tenant_id", "channel", "message_id", name=op.f("merged_messages_pkey")),
    )
    op.create_table(
        "plans",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("format", sa.SmallInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("document", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("trace", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("turn_id", "revision", "tenant_id", name=op.f("plans_pkey")),
    )
    op.create_table(
        "replies",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("artifacts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("question", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("grounded", sa.Boolean(), nullable=True),
        sa.Column("sources", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("trace", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("turn_id", "tenant_id", name=op.f("replies_pkey")),
    )
    op.create_table(
        "sim_calls",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("turn_id", "step_id", "tenant_id", name=op.f("sim_calls_pkey")),
    )
    op.create_table(
        "sim_writes",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("value", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("key", "tenant_id", name=op.f("sim_writes_pkey")),
    )
    op.create_table(
        "steps",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("args", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("needs", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("inputs", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("effect", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("inline", sa.Boolean(), nullable=False),
        sa.Column("critical", sa.Boolean(), nullable=False),
        sa.Column("run_if", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("fallbacks", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("on_need_error", sa.Text(), nullable=False),
        sa.Column("timeout_ms", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("unsure", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("cache", sa.Text(), nullable=True),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("result", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.PrimaryKeyConstraint("turn_id", "id", "tenant_id", name=op.f("steps_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        "steps_leased_idx", "steps", ["lease_until"], unique=False, postgresql_where=sa.text("status = 'running'")
    )
    op.create_index(
        "steps_unknown_idx", "steps", ["finished_at"], unique=False, postgresql_where=sa.text("status = 'unknown'")
    )
    op.create_table(
        "tenants",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("tenants_pkey")),
        sa.UniqueConstraint("name", name=op.f("tenants_name_key")),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("body_hash", sa.LargeBinary(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=True),
        sa.Column("on_error", sa.Text(), nullable=False),
        sa.Column("on_busy", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("person", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("extra", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("callback_url", sa.Text(), nullable=True),
        sa.Column("submitted_plan", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("deadline_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("generation", sa.Integer(), server_default="0", nullable=False),
        sa.Column("compiled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("open_steps", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_event", sa.Integer(), server_default="0", nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("placement", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=True),
        sa.Column("synthesis_hint", sa.Text(), nullable=True),
        sa.Column("output", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column(
            "usage", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), server_default="{}", nullable=False
        ),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("ending", sa.Text(), nullable=True),
        sa.Column("superseded_by", sa.Uuid(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("planning_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("planned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("responding_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", "tenant_id", name=op.f("turns_pkey")),
        sa.UniqueConstraint("tenant_id", "channel", "message_id", name=op.f("turns_tenant_id_channel_message_id_key")),
        sa.UniqueConstraint(
            "tenant_id", "conversation_id", "seq", name=op.f("turns_tenant_id_conversation_id_seq_key")
        ),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        "turns_backlog_idx",
        "turns",
        ["status", "tenant_id"],
        unique=False,
        postgresql_where=sa.text("status IN ('queued', 'planning', 'running', 'responding')"),
    )
    op.create_index(
        "turns_broken_idx",
        "turns",
        ["finished_at"],
        unique=False,
        postgresql_where=sa.text("status = 'failed' AND error ->> 'code' = 'internal_error'"),
    )
    op.create_index(
        "turns_due_idx",
        "turns",
        ["deadline_at"],
        unique=False,
        postgresql_where=sa.text("status IN ('queued', 'planning', 'running')"),
    )
    op.create_index(
        "turns_unsent_idx",
        "turns",
        ["sent_at"],
        unique=False,
        postgresql_where=sa.text("status = 'queued' AND sent_at IS NOT NULL"),
    )
    op.create_table(
        "workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("queues", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column(
            "started_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("beat_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("workers_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "conversations",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("person", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("active_turn_id", sa.Uuid(), nullable=True),
        sa.Column("audit_seq", sa.Integer(), server_default="0", nullable=False),
        sa.Column("audit_hash", sa.LargeBinary(), server_default="", nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("conversations_tenant_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("conversations_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        op.f("conversations_tenant_id_updated_at_idx"),
        "conversations",
        ["tenant_id", "updated_at"],
        unique=False,
        postgresql_where=sa.text("last_seq > 0"),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("development", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("keys_tenant_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("keys_pkey")),
        sa.UniqueConstraint("digest", name=op.f("keys_digest_key")),
    )
    op.create_index(op.f("keys_tenant_id_idx"), "keys", ["tenant_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("keys_tenant_id_idx"), table_name="keys")
    op.drop_table("keys")
    op.drop_index(
        op.f("conversations_tenant_id_updated_at_idx"),
        table_name="conversations",
        postgresql_where=sa.text("last_seq > 0"),
    )
    op.drop_table("conversations")
    op.drop_table("workers")
    op.drop_index(
        "turns_unsent_idx", table_name="turns", postgresql_where=sa.text("status = 'queued' AND sent_at IS NOT NULL")
    )
    op.drop_index(
        "turns_due_idx", table_name="turns", postgresql_where=sa.text("status IN ('queued', 'planning', 'running')")
    )
    op.drop_index(
        "turns_broken_idx",
        table_name="turns",
        postgresql_where=sa.text("status = 'failed' AND error ->> 'code' = 'internal_error'"),
    )
    op.drop_index(
        "turns_backlog_idx",
        table_name="turns",
        postgresql_where=sa.text("status IN ('queued', 'planning', 'running', 'responding')"),
    )
    op.drop_table("turns")
    op.drop_table("tenants")
    op.drop_index("steps_unknown_idx", table_name="steps", postgresql_where=sa.text("status = 'unknown'"))
    op.drop_index("steps_leased_idx", table_name="steps", postgresql_where=sa.text("status = 'running'"))
    op.drop_table("steps")
    op.drop_table("sim_writes")
    op.drop_table("sim_calls")
    op.drop_table("replies")
    op.drop_table("plans")
    op.drop_table("merged_messages")
    op.drop_table("fragments")
    op.drop_table("events")
    op.drop_table("audit")
