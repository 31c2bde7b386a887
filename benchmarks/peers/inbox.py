"""Keep accepted messages in a table, for peers that have none."""

import asyncio
import os

from psycopg import AsyncConnection

_TABLE = "CREATE TABLE IF NOT EXISTS inbox (turn_id uuid PRIMARY KEY, message text, reply text, results jsonb)"
_INSERT = "INSERT INTO inbox (turn_id, message) VALUES (%s, %s)"
_CONNECTIONS = 4


class Inbox:
    """The table of messages. Each is stored with its own commit."""

    def __init__(self) -> None:
        self._idle: asyncio.LifoQueue[AsyncConnection] = asyncio.LifoQueue()

    async def open(self) -> None:
        """Connect, and create the table if it does not exist."""
        connections = [
            await AsyncConnection.connect(os.environ["DATABASE_URL"], autocommit=True) for _ in range(_CONNECTIONS)
        ]
        await connections[0].execute(_TABLE)
        for connection in connections:
            self._idle.put_nowait(connection)

    async def keep(self, turn_id: str, message: str) -> None:
        """Record a message."""
        connection = await self._idle.get()
        try:
            await connection.execute(_INSERT, (turn_id, message), prepare=True)
        finally:
            self._idle.put_nowait(connection)
