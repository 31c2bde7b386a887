"""Tools for load tests, fault drills and documentation. They touch nothing but the clock, two small tables and a log.

With `TURNLOOM_SIM_LOG=FILE` each call appends `S turn_id step_id attempt epoch_seconds` when it starts, and the same
with `E` when its effect has happened: nothing for a call that fails or that the idempotency key deduplicates.
"""
