"""Measurements of speed and quality, run by hand: `python -m benchmarks.NAME`; the tests try each on a few birds."""
