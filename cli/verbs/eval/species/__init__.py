"""`kb eval species`."""
