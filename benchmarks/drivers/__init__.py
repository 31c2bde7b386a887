"""Programs that drive the systems measured without HTTP. They run turns and report the time of each.

There is one per system. They speak the line protocol of `orders`.
"""
