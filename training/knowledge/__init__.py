"""Makers of the shipped knowledge: claims from texts, facts from claims, sentences from facts, and vectors.

Used by `python -m training.knowledge` alone; no knowledge base is built through here.
"""
