"""Evaluation of ranked lists."""
