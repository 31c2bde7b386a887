"""Travel planning over a small data set of our own: attractions, climate, demo hotels, and an itinerary of them.

`data/` has one file for each city. Attractions are real places; weather comes from climate normals; the hotels and
their prices are invented, and say so.
"""
