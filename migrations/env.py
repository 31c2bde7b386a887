"""Alembic's environment: one connection, one transaction, one migrating process at a time."""

from alembic import context
from sqlalchemy import create_engine, text

from models.tables import Row

engine = create_engine(context.config.attributes["url"])
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=Row.metadata, compare_server_default=True)
    with context.begin_transaction():
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('turnloom.migration'))"))
        context.run_migrations()
    connection.commit()
engine.dispose()
