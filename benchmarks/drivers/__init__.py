"""One program per system that is compared: it has turns done, as many at once as told, and reports each one's time.

They speak the line protocol of `orders`. Those of other systems run without any dependency of ours.
"""
