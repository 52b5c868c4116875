"""Curation by hand: add, remove, lint, credits."""
