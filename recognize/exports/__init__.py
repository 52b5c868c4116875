"""Identified photos in the formats of other programs: camera traps, portals of observations, keywords."""
