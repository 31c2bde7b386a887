"""Contracts are the shapes of data that crosses a boundary: requests, plans, envelopes, replies, events."""
