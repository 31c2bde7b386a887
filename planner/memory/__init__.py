"""A conversation's memory: slots and their state, and a summary. The knowledge graph is in `planner.knowledge`."""
