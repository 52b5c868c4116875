"""The build: six stages from taxa to a finished knowledge base, and updates."""
