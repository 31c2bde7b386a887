"""Read the counters of Postgres and Valkey: measures of a turn's cost that do not depend on the load.

Sessions of Postgres report once a second, so read the counters while the same load goes on before and after.
"""

from types import TracebackType
from typing import Self

import psycopg
from redis import Redis

from turnloom.workers.embedded.stack import Stack

_DATABASE = (
    "SELECT xact_commit + xact_rollback AS transactions, tup_inserted AS inserted, tup_updated + tup_deleted AS changed"
    " FROM pg_stat_database WHERE datname = %s"
)
_SERVER = (
    # Only a transaction that writes gets a number.
    "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS commits,"
    " (pg_current_wal_insert_lsn() - '0/0')::bigint / 1024.0 AS wal_kb,"
    " (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal') AS fsyncs"
)
_DURABLE = "SELECT current_setting('fsync') || current_setting('synchronous_commit')"
_MESSAGES = ("brpop", "blpop")
_PUBLISHED = ("publish", "spublish")


class ServerCounters:
    """The counters of both servers. Those of Postgres cover one database where Postgres counts by database."""

    def __init__(self, of: Stack, database: str) -> None:
        self._database = database
        self._postgres = psycopg.connect(of.postgres.url, autocommit=True)
        self._redis = Redis.from_url(of.redis_url, decode_responses=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._postgres.close()
        self._redis.close()

    def refuse_unsafe_commits(self) -> None:
        """Make sure that a commit waits for the disk.

        Raises:
            RuntimeError: commits do not wait.
        """
        row = self._postgres.execute(_DURABLE).fetchone()
        if row != ("onon",):
            raise RuntimeError("commits do not wait for the disk: fsync or synchronous_commit is off")

    def read(self) -> dict[str, float]:
        """Return every counter as it stands."""
        return {**self._counted(_DATABASE, self._database), **self._counted(_SERVER), **self._commands()}

    def _counted(self, query: str, *values: str) -> dict[str, float]:
        cursor = self._postgres.execute(query, values)
        row = cursor.fetchone()
        assert row is not None
        assert cursor.description is not None
        return {column.name: float(value) for column, value in zip(cursor.description, row, strict=True)}

    def _commands(self) -> dict[str, float]:
        found = self._redis.info("commandstats")
        calls = {name.removeprefix("cmdstat_"): float(stats["calls"]) for name, stats in found.items()}
        return {
            "messages": sum(calls.get(name, 0.0) for name in _MESSAGES),
            "published": sum(calls.get(name, 0.0) for name in _PUBLISHED),
            "Redis commands": sum(calls.values()),
        }
