"""Untrained encoders of colours, shapes and words."""
