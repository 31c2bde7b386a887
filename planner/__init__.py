"""Decide what to do and what to say. Pure, except for language-model calls."""
