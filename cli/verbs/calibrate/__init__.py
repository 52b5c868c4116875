"""`kb calibrate`."""
