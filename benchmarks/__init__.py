"""Measure how fast the service is, as ratios to baselines that run in the same minute: `make bench`."""
