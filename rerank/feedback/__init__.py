"""Interactive retrieval: a search that grows by the images that a user marks as relevant."""
