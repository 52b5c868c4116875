"""Reasons that a build reports for names left out, incomplete species and skipped photos."""

from __future__ import annotations

from typing import Final

NO_PAGE: Final = "no page"
NO_FOLDER: Final = "no folder"
UNASKED: Final = "not asked for"
"""A species without a folder, where no taxon or table asked for it."""
DISAMBIGUATION: Final = "disambiguation"
OTHER_SUBJECT: Final = "about another subject"
NO_TAXOBOX: Final = "no taxobox"
"""The page is on a species, by its first words, but states no classification."""
DUPLICATE: Final = "duplicate page"
NOT_IN_CHECKLIST: Final = "not in the checklist"
SEVERAL_TAXA: Final = "name of several taxa"
NOT_A_BIRD: Final = "not a bird"
NOT_A_SPECIES: Final = "not a species"
IN_GROUP_ARTICLE: Final = "in a genus or family article"
REMOVED: Final = "removed by the user"

# Pages of the web that are not used.
DISALLOWED: Final = "disallowed by robots.txt"
NO_TEXT: Final = "no usable text"
NO_DESCRIPTION: Final = "no description on the page"

# Marks of species that are in the knowledge base, but incomplete.
NO_SUMMARY: Final = "no-summary"
WHOLE_ARTICLE: Final = "whole-article"
NO_ANCHORS: Final = "no-anchors"
# Marks of entries that are no species: no species of the genus or family has an article of its own.
GENUS_ARTICLE: Final = "genus-article"
FAMILY_ARTICLE: Final = "family-article"

# Photos skipped as anchors.
NOT_A_PHOTO: Final = "not a photo"
MAP_OR_SIGN: Final = "map or sign"
DRAWING: Final = "drawing beside photos"
OTHER_SPECIES: Final = "of another species"
OTHER_MATTER: Final = "not of the living species"
NO_PICTURE: Final = "no picture"
NO_FILE: Final = "no such file"
LICENCE_NOT_FREE: Final = "licence not free"
LICENCE_UNKNOWN: Final = "licence unknown"
TOO_SMALL: Final = "too small"
UNREADABLE: Final = "unreadable image"
NOT_AN_IMAGE: Final = "not an image"
BEYOND_LIMIT: Final = "beyond the limit"
DUPLICATE_PHOTO: Final = "duplicate photo"
BLOCKED_HOST: Final = "on a blocked host"
