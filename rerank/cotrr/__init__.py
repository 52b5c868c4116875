"""CoTRR: query deconstruction, photo evaluation, listwise ranking."""
