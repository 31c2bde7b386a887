"""The hotel pack's tables are read and written here. Functions take an open session and never commit."""

from turnloom.tools.packs.hotel.store.holds import erase

__all__ = ["erase"]
