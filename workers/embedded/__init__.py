"""The embedded stack runs real servers and our own processes on one machine, without Docker or root.

It is for laptops, demos, tests and benchmarks. Production runs the same processes under its own supervisor.
"""
