"""Tools that train, compose and measure what ships in the starter files; not part of the wheel."""
