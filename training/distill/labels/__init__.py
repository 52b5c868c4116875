"""Hand-labelled sentences, as positions and classes; see README.md."""
