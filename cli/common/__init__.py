"""Parts that several commands share: settings, output, progress, wiring."""
