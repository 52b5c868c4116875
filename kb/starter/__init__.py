"""The makers of the knowledge that ships with Fieldmark: claims out of texts, facts out of these, sentences.

Used by `python -m cli.make_starter` alone; a knowledge base is never built through here.
"""
