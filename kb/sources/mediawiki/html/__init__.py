"""Parsing of wiki pages: text, taxobox, figures."""
