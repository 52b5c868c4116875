"""Ranges of species: places, roles and months in their texts."""
