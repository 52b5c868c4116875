"""Measurement of the extractive distiller on hand-labelled sentences."""
