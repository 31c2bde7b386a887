"""The meetings pack's tables are read and written here. Functions take an open session and never commit."""

from turnloom.tools.packs.meetings.store.meetings import erase

__all__ = ["erase"]
