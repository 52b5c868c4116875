"""Designs of birds, by group."""
