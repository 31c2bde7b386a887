"""Hotel booking: rooms, what a stay costs and whether one is free, links to book it, answers about the house.

Behind the tools is a hotel's own system (`systems.HotelSystem`): the inventory in our database. `data/demo.yaml` is an
invented hotel with invented prices that every tenant sees which has none of its own; `data/terms.yaml` says what people
call beds, boards and amenities.
"""
