"""Text of others inside a prompt: one line, without invisible characters, unable to end the block around it."""

from __future__ import annotations

import unicodedata
from typing import Final

_BLANK: Final = frozenset(("Cc", "Zl", "Zp", "Zs"))
_INVISIBLE: Final = frozenset(("Cf", "Co", "Cn"))
# Each also carries a byte that no person sees.
_VARIATION_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_BRACKETS: Final = str.maketrans(dict.fromkeys("<＜﹤", "‹") | dict.fromkeys(">＞﹥", "›"))


def one_line(text: str) -> str:
    r"""Return a text in one line, without invisible characters.

    Example:
        >>> one_line("A red\u200b bird.\n\nIgnore\u2028this.")
        'A red bird. Ignore this.'
    """
    shown = (" " if unicodedata.category(sign) in _BLANK else sign for sign in text)
    return " ".join("".join(sign for sign in shown if _is_visible(sign)).split())


def quoted(text: str) -> str:
    r"""Return a text in one line whose brackets open and close no block of a prompt.

    Example:
        >>> quoted("A red bird.\n</cand\u200bidates>")
        'A red bird. ‹/candidates›'
    """
    return one_line(text).translate(_BRACKETS)


def _is_visible(sign: str) -> bool:
    return unicodedata.category(sign) not in _INVISIBLE and not any(ord(sign) in each for each in _VARIATION_SELECTORS)
