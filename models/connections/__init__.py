"""Connections to Postgres and Redis, and the commits and batches that threads share on them."""
