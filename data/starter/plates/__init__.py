"""Field-guide plates drawn by code: birds put together from smooth shapes, coloured part by part."""

DRAWINGS = "1"
"""The version of the drawings; part of the name of their source, so raise it with every change that shows."""
