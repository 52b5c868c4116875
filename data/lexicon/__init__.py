"""Words for the looks of an animal: parts, colours, patterns, sexes, ages, by group."""
