"""Detector of birds in photos."""
