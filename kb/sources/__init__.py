"""Sources of articles and photos: wikis, folders, the starter knowledge."""
