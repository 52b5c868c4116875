"""Knowledge that ships with Fieldmark: facts and terms in our own words, vectors, and drawings made by code."""
