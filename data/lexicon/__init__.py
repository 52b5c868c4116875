"""Lexicon of looks: parts, colours, patterns, shapes, sexes and ages, in one folder of text files per group.

`words` reads them. A new group of organisms is a new folder, a row in `groups.txt` and its taxa in `taxa.txt`.
"""
