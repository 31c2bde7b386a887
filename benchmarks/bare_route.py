"""Accept messages with the least durable work: a route with one prepared INSERT and COMMIT on a pooled connection.

This is the baseline of `ack`. gunicorn serves it exactly as it serves our own API.
"""

import os
from uuid import uuid4

from flask import Flask, request
from flask.typing import ResponseReturnValue
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool

from turnloom.models.runtime.settings import settings

TABLE = "CREATE TABLE IF NOT EXISTS bare_messages (id uuid PRIMARY KEY, body jsonb, at timestamptz DEFAULT now())"
INSERT = "INSERT INTO bare_messages (id, body) VALUES (%s, %s)"


def create_app() -> Flask:
    """Make the WSGI application. DATABASE_URL names a role that may write to the table."""
    app = Flask(__name__)
    size = settings().database_pool_size
    pool = ConnectionPool(
        os.environ["DATABASE_URL"], min_size=size, max_size=size, open=True, kwargs={"autocommit": True}
    )

    @app.post("/")
    def receive() -> ResponseReturnValue:
        message_id = uuid4()
        with pool.connection() as db:
            db.execute(INSERT, (message_id, Jsonb(request.get_json())), prepare=True)
        return {"id": str(message_id)}, 202

    return app
