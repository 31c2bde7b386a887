"""Notifications: messages to a user besides replies, and how the user settled them."""
