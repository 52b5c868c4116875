"""Figures of interactive retrieval by an artificial actor."""
