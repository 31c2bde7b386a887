"""Guards: checks around the call of a tool, as the tool declares them.

They apply in this order:

1. `access`: the user has granted the tool's scopes, and the account that the tool needs can be used.
2. approval by a person, if the tool requires it (`workers/running/parking.py`).
3. `rate_limits`: how often a user, and a tenant, may call the tool.
4. `breaker`: an outside service that keeps failing is not called for a while.
5. `cache`: a result of a read is shared by the whole tenant. Equal reads at the same time make one call.
6. the deadline, the call with its retries, and the check of the result (`tools/runner.py`). Each try asks the breaker.

Access and approval are checked before anything else is done for the call. The runner applies the others, with the
arguments as the hooks have left them. All workers share limits, breaker and cache through Redis. If Redis is
unavailable, calls pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from turnloom.models.contracts.envelope import Envelope
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import breaker, cache, rate_limits
from turnloom.tools.registry import Tool

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards that the runner applies to one step."""

    longest_wait_s: float
    """How long the step may wait for its time under a limit: the time left for its turn."""

    def around(self, tool: Tool, query: BaseModel, context: ToolContext, make: Callable[[], Envelope]) -> Envelope:
        """Return the cached result of a call, or make the call.

        Raises:
            ToolFailed: RATE_LIMITED or CIRCUIT_OPEN, the call may not be made.
        """
        rate_limits.reserve(tool, context, self.longest_wait_s)
        if tool.cache_s is None:
            return make()
        breaker.refuse(tool, query, context)
        return cache.shared(tool, query, context, make)

    def attempt(self, tool: Tool, query: BaseModel, context: ToolContext, call: Callable[[], Result]) -> Result:
        """Make one try of a call.

        Raises:
            ToolFailed: CIRCUIT_OPEN. Exceptions of the call pass through.
        """
        return breaker.through(tool, query, context, call)
