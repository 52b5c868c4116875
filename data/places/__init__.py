"""Places of the world that texts name: names, extents, and the relation of two places."""
