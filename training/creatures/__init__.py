"""Drawings of butterflies, frogs, mushrooms and flowers, made by code: what a small model sees outside birds."""
