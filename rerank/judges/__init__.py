"""Judges: models that answer a question on a photo."""
