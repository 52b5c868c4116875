"""What can be seen, out of an article: sentences chosen and trimmed, and packed into chunks."""
