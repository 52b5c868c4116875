"""Distilling: sentences on looks chosen from an article, trimmed, and packed into chunks."""
