"""Notifications: what a user was told, and how it was settled."""
