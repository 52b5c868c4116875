"""The reader: a vision model that chooses among candidates."""
