"""Bundles: export and import of a knowledge base as Parquet tables."""
