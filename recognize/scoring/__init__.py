"""Scoring of photos against a knowledge base: presets, retrieval, fusion."""
