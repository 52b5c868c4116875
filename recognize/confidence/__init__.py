"""Confidence of an answer: its evidence, calibrations and their fit to labelled photos, priors of lists and places."""
