"""Calibration of one knowledge base from labelled photos."""
