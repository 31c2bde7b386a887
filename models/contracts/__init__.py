"""Shapes of what crosses a boundary: requests, plans, envelopes, replies, events."""
