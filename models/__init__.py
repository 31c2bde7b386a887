"""The ground: shapes, rows, settings. Imports nothing of ours."""
