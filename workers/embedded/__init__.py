"""The embedded stack: real servers and our own processes on one machine, without Docker or root.

For laptops, demos, tests and benchmarks. Production runs the same processes under a supervisor of its own.
"""

from workers.embedded.foreground import foreground
from workers.embedded.stack import Servers, Stack, StackOptions

__all__ = ["Servers", "Stack", "StackOptions", "foreground"]
