"""Drawings of birds, made from tables of parts and colours: `python -m training.plates`."""
