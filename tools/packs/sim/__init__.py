"""Tools for load tests, fault drills and documentation. They use only the clock, two small tables and a log.

With `TURNLOOM_SIM_LOG=FILE` each call appends `S turn_id step_id attempt epoch_seconds` when it starts, and the same
line with `E` when its effect has happened. A call that fails, or that the idempotency key deduplicates, writes no `E`.
"""
