"""Retrieval metrics, ties, significance tests."""
