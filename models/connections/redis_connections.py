"""Connections to Redis that break when the server says that it cannot serve.

A server that is out of memory or disk, that loads its data, or that has become a replica in a failover answers with an
error. redis-py and kombu take it for a fault of the command, and go on asking the same server; a worker ends. Here
it is what it means: a connection that is lost. Whoever asks again connects anew, and after a failover that leads to the
new primary. The server has refused the command, so that asking again does nothing twice.
"""

from functools import cache
from typing import Any

from redis import ConnectionError as ConnectionLost
from redis import ReadOnlyError, ResponseError
from redis.exceptions import ClusterDownError, MasterDownError, OutOfMemoryError

_KINDS = (ReadOnlyError, OutOfMemoryError, MasterDownError, ClusterDownError)
_CODES = ("MISCONF ", "NOREPLICAS ", "UNBLOCKED ", "LOADING ", "READONLY ", "OOM ", "MASTERDOWN ", "CLUSTERDOWN ")
"""What redis-py has no class for; and the others, too, where a script says them."""


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
