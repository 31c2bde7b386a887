"""The embedded stack runs real servers and our own processes on one machine, without Docker or root.

It is for laptops, demos, tests and benchmarks. Production runs the same processes under its own supervisor.
"""

from turnloom.workers.embedded.foreground import foreground
from turnloom.workers.embedded.stack import EmbeddedServers, Stack, StackOptions

__all__ = ["EmbeddedServers", "Stack", "StackOptions", "foreground"]
