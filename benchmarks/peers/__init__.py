"""Systems that one could use instead of ours, each behind an HTTP API with the same paths and the same turn.

They run without any of our dependencies.
"""
