"""The systems that one would use instead, each behind an HTTP API with the same paths and the same turn.

They run without any dependency of ours.
"""
