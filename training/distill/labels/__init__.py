"""Sentences of articles labelled by hand, as places and classes; README.md says how they were drawn and judged."""
