"""Recorded conversations are run again, compared with their records, and reported."""
