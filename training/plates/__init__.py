"""Drawings of birds made by code: smooth shapes, coloured part by part. `python -m training.plates` makes the files."""
