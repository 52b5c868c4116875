"""Chroma, embedded in the knowledge base's folder or on a server: all that knows chromadb.

`Collections` reads and writes rows. It reaches them by a `ChromaFolder` or a `ChromaServer`, which open and close the
client and translate its errors.
"""

from kb.store.chroma.collections import Collections, Metadata, Row

__all__ = ["Collections", "Metadata", "Row"]
