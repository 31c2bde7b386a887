"""Alembic's environment: one connection, one transaction, one migrating process at a time."""

from alembic import context
from sqlalchemy import create_engine, text

from turnloom.models.tables import Row

# Nothing is prepared: the owner's connection, too, may be one of a pooler.
engine = create_engine(context.config.attributes["url"], connect_args={"prepare_threshold": None})
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=Row.metadata, compare_server_default=True)
    with context.begin_transaction():
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('turnloom.migration'))"))
        # Where the application's role is the owner, it may have a time-out of its own.
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        context.run_migrations()
    connection.commit()
engine.dispose()
