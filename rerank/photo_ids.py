"""Ids of the photos of a folder: their paths below it, as single words that fit into a TREC run."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

_QUOTED = re.compile(r"[\s%]")


def id_of_path(path: str) -> str:
    """Return the id of a path below a folder, with white space and the percent sign quoted as in web addresses.

    Different paths have different ids.

    Example:
        >>> id_of_path("owls/a b.jpg"), id_of_path("owls/a%20b.jpg")
        ('owls/a%20b.jpg', 'owls/a%2520b.jpg')
    """
    return _QUOTED.sub(lambda found: quote(found[0]), path)


def path_of_id(image_id: str) -> str:
    """Return the path with that id.

    Example:
        >>> path_of_id("owls/a%2520b.jpg")
        'owls/a%20b.jpg'
    """
    return unquote(image_id) if "%" in image_id else image_id
