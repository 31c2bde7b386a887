"""Hotel booking: rooms, prices and availability of stays, links to book one, and answers about the hotel.

The tools work on a hotel's own system (`systems.HotelSystem`): the inventory in our database, or MiniHotel.
`data/demo.yaml` is an invented hotel with invented prices. Every tenant without a hotel of its own sees it.
`data/terms.yaml` has the words that people use for beds, boards and amenities.
"""
