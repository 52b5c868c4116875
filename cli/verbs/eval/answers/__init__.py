"""`kb eval answers`."""
