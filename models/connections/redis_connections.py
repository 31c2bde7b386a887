"""Connections to Redis that break when the server says that it cannot serve.

A server answers with an error when it is out of memory or disk, loads its data, or has become a replica in a failover.
redis-py and kombu take this for a fault of the command and keep asking the same server; a worker ends. Here it counts
as a lost connection. The next try opens a new connection, which after a failover leads to the new primary. The server
has refused the command, so trying again does nothing twice.
"""

from functools import cache
from typing import Any

from redis import ConnectionError as ConnectionLost
from redis import ReadOnlyError, ResponseError
from redis.exceptions import ClusterDownError, MasterDownError, OutOfMemoryError

_KINDS = (ReadOnlyError, OutOfMemoryError, MasterDownError, ClusterDownError)
_CODES = ("MISCONF ", "NOREPLICAS ", "UNBLOCKED ", "LOADING ", "READONLY ", "OOM ", "MASTERDOWN ", "CLUSTERDOWN ")
"""Errors that redis-py has no class for, and the others too, when a script returns them."""


@cache
def breaking(kind: type[Any]) -> type[Any]:
    """Return a class of connections like this one that breaks when the server cannot serve."""

    class Breaking(kind):  # type: ignore[misc]
        def read_response(self, *args: Any, **options: Any) -> Any:
            """Read the answer to a command.

            Raises:
                ConnectionLost: the server cannot serve.
            """
            try:
                return super().read_response(*args, **options)
            except ResponseError as error:
                if not (isinstance(error, _KINDS) or str(error).startswith(_CODES)):
                    raise
                self.disconnect()
                raise ConnectionLost(f"the server cannot serve: {error}") from error

    Breaking.__name__ = f"Breaking{kind.__name__}"
    return Breaking
