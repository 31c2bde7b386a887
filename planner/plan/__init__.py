"""The plan as data: its validation, its references, its graph, its phases. Pure."""
