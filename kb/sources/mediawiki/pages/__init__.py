"""Wiki pages found, described and matched with taxa."""
