"""Lexicon of looks: parts, colours, patterns, shapes, sexes and ages, in one folder of text files per group of animals.

`tables` reads them. A new group of animals is a new folder with the same files.
"""
