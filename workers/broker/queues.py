"""The queues of tasks. Reading this module reads no settings."""

LIVE_QUEUES = ("plan", "tools.io", "tools.cpu", "respond", "deliver", "maintenance")
"""The queues that turns need. They are separate, so that a full tool queue never blocks planning."""

QUEUES = (*LIVE_QUEUES, "replay")
"""All queues. Replays have one of their own, so that they take no worker from turns."""
