"""Hand-labelled sentences, as places and classes; README.md tells how they were drawn and judged."""
