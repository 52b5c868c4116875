"""`kb feedback`."""
