"""Storage of a knowledge base: ledger, Chroma, mapped matrices."""
