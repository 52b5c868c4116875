"""`kb taxa`."""
