"""Drafting a plan: the context and the prompt of a planning call, and the reading of its answer."""
