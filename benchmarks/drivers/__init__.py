"""One program per system that is measured without HTTP: it has turns done, and reports the time of each.

They speak the line protocol of `orders`.
"""
