"""Confidence of an answer: calibration, prior, roll-up to higher taxa."""
