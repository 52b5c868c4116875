"""The fixed words in which a build says why something was left out, or what a species lacks; `kb status` counts."""

from __future__ import annotations

from typing import Final

NO_PAGE: Final = "no page"
DISAMBIGUATION: Final = "disambiguation"
NOT_ABOUT: Final = "not about the taxon"
DUPLICATE: Final = "duplicate page"
NOT_IN_TAXONOMY: Final = "not in the taxonomy"
NOT_A_BIRD: Final = "not a bird"
NOT_A_SPECIES: Final = "not a species"
REMOVED: Final = "removed by the user"

# Species that are in, with less than others have.
NO_SUMMARY: Final = "no-summary"
WHOLE_ARTICLE: Final = "whole-article"
NO_ANCHORS: Final = "no-anchors"

# Photos that are not taken as anchors.
NOT_A_PHOTO: Final = "not a photo"
A_MAP_OR_SIGN: Final = "a map or sign"
NO_PICTURE: Final = "no picture"
NO_FILE: Final = "no such file"
LICENCE_NOT_FREE: Final = "licence not free"
LICENCE_UNKNOWN: Final = "licence unknown"
TOO_SMALL: Final = "too small"
UNREADABLE: Final = "unreadable picture"
NOT_SENT: Final = "something else came"
SAME_PICTURE: Final = "same picture twice"
ELSEWHERE: Final = "on a host that is not asked"
