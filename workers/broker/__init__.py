"""Celery: the application, its messages, chords and transport, and the programs that run it."""
