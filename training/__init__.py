"""Making and measuring of the starter files; not part of the wheel."""
