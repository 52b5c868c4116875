"""Interactive retrieval by an artificial actor, in the place of a user."""
