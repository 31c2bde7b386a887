"""Upkeep keeps the processes and the ledger healthy: heartbeats, admission, cleaning, seals, summaries."""
