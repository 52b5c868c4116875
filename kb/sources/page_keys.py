"""Ids of pages of the web: that of their species or term, and a hash of their address."""

from __future__ import annotations

from data.files import sha256_hex

_SIGN = "#"  # in no id of a species or term


def page_key(subject_id: str, address: str) -> str:
    """Return the id of a page of a species or term.

    Example:
        >>> page_key("anas-platyrhynchos", "https://example.org/mallard")
        'anas-platyrhynchos#b8dcd8921944'
    """
    return f"{subject_id}{_SIGN}{sha256_hex(address)[:12]}"


def is_page(key: str) -> bool:
    """Return whether an id is that of a page."""
    return _SIGN in key


def owner_of(key: str) -> str:
    """Return the species or term of a page; any other id unchanged.

    Example:
        >>> owner_of("anas-platyrhynchos#9a1c"), owner_of("term:cere")
        ('anas-platyrhynchos', 'term:cere')
    """
    return key.partition(_SIGN)[0]
