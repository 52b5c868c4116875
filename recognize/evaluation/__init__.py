"""Evaluation of recognition on labelled photos."""
