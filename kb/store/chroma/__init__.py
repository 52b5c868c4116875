"""Chroma, embedded in the knowledge base's folder or on a server: all that knows chromadb."""

from kb.store.chroma.collections import Collections, Metadata, Row

__all__ = ["Collections", "Metadata", "Row"]
