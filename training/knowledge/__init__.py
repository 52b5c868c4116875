"""The makers of the knowledge that ships with Fieldmark: claims out of texts, facts out of these, sentences.

Used by `python -m training.knowledge.make` alone; a knowledge base is never built through here.
"""
