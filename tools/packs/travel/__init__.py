"""Travel planning: attractions, weather, hotels, flights, and an itinerary made of them.

By default the tools use a small data set of our own. `data/` has one file for each city. Attractions are real places.
Weather comes from climate normals. Hotels, flights and their prices are invented, and their `source` says so.
"""
