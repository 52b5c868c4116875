"""Collections: the photos of a folder with their vectors on disk, and searches in them."""
