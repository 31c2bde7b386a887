"""The HTTP API. This is the only package that knows Flask."""
