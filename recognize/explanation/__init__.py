"""Explanation of an answer: evidence, field marks, cards."""
