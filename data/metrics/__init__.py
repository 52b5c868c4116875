"""Measures of rankings and significance tests."""
