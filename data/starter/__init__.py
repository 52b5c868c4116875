"""Knowledge that ships with Fieldmark: facts and terms in our own words, and drawings made by code."""
