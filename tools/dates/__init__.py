"""Dates of stay from what people say: "next weekend", "2 nights from Friday", "end of the month"."""
