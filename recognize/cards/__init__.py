"""Result cards: one HTML page a photo."""
