"""Look-ups in a finished knowledge base: by name, by words, and for the context of a query."""
