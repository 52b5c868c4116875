"""Encoders of photos and texts, by profile."""
