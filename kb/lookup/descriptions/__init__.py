"""Descriptions of birds: everyday words, and field marks."""
