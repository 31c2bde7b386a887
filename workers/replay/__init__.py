"""Replay recorded conversations, and report which of their turns go differently."""
