"""Dates of stays from phrases such as "next weekend", "2 nights from Friday" or "end of the month"."""
