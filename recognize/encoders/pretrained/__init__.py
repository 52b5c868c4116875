"""Encoders of open_clip, timm and sentence-transformers."""
