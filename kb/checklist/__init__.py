"""Checklists: taxa, their names, and the matching of other lists with them."""
