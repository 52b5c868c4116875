"""`kb eval feedback`."""
