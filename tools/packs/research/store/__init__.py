"""The research pack's tables are read and written here. Functions take an open session and never commit."""

from turnloom.tools.packs.research.store.notes import erase

__all__ = ["erase"]
