"""The queues of tasks. Reading this module reads no settings."""

QUEUES = ("plan", "tools.io", "tools.cpu", "respond", "deliver", "maintenance")
"""The queues are separate, so that a full tool queue never blocks planning."""
