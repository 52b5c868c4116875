"""Colours, shades, patterns, shapes and sizes in facts, and the words of descriptions for them.

A colour word stands for the words that may be said in its place, the most telling first: two texts agree on a colour
where these overlap, and what is said is the first word that both allow ("rusty brown" and "reddish" do not agree,
"greyish-brown" and "brown" agree on brown).
"""

from __future__ import annotations

from collections.abc import Mapping

from data.lexicon.tables import column, rows

# --- colours -----------------------------------------------------------------------------------------------------

COLOURS = column("colours", "fact")
"""Colour word -> the plain colour that it is a form of."""

DARK_WORDS = frozenset(word for word, tone in column("colours", "tone").items() if tone == "dark")
PALE_WORDS = frozenset(word for word, tone in column("colours", "tone").items() if tone == "pale")
SHADES = column("looks", "shade")
"""Shade word -> `dark`, `pale` or `bright`."""

_MIXED: Mapping[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys((("red", "brown"), ("rufous", "brown"), ("orange", "brown")), ("rufous", "brown")),
    ("chestnut", "brown"): ("chestnut", "rufous", "brown"),
    **dict.fromkeys((("rufous", "red"), ("brown", "red"), ("rufous", "orange"), ("brown", "orange")), ("rufous",)),
    ("chestnut", "red"): ("chestnut", "rufous"),
    ("olive", "brown"): ("olive-brown", "brown", "olive"),
    ("brown", "olive"): ("olive-brown", "olive"),
    ("grey", "brown"): ("grey-brown", "brown", "grey"),
    ("brown", "grey"): ("grey-brown", "grey", "brown"),
    ("buff", "brown"): ("buff", "brown"),
    ("black", "brown"): ("brown",),
    ("blue", "grey"): ("blue-grey", "grey"),
    ("grey", "blue"): ("blue-grey", "blue"),
    ("olive", "grey"): ("olive-grey", "grey", "olive"),
    ("grey", "olive"): ("olive-grey", "olive"),
    ("olive", "green"): ("olive-green", "green", "olive"),
    ("green", "olive"): ("olive-green", "olive"),
    ("yellow", "green"): ("yellow-green", "green"),
    ("green", "yellow"): ("yellow-green", "yellow"),
    ("olive", "yellow"): ("olive", "yellow"),
    ("yellow", "olive"): ("olive",),
    ("blue", "green"): ("blue-green", "green"),
    ("green", "blue"): ("blue-green", "blue"),
    ("blue", "black"): ("blue-black", "black"),
    ("black", "blue"): ("blue-black", "blue"),
    ("green", "black"): ("black",),
    ("black", "green"): ("green",),
    ("brown", "black"): ("black",),
    ("grey", "black"): ("black",),
    ("black", "grey"): ("grey",),
    ("purple", "blue"): ("violet-blue", "blue"),
    ("blue", "purple"): ("violet-blue", "purple"),
    ("orange", "red"): ("orange-red", "red"),
    ("red", "orange"): ("orange-red", "orange"),
    ("yellow", "orange"): ("orange",),
    ("orange", "yellow"): ("yellow",),
    ("pink", "red"): ("pinkish-red", "red"),
    ("red", "pink"): ("pinkish-red", "pink"),
    ("silvery", "grey"): ("silvery-grey", "grey"),
    ("turquoise", "blue"): ("turquoise", "blue"),
    ("cream", "white"): ("cream", "white"),
    ("buff", "white"): ("buff", "white"),
}
_SINGLE: Mapping[str, tuple[str, ...]] = {
    "chestnut": ("chestnut", "rufous"),
    "turquoise": ("turquoise", "blue"),
    "cream": ("cream", "white"),
    "silvery": ("silvery-grey", "grey"),
    "olive": ("olive", "olive-green"),
}


def admitted(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the colours that may be said for a run of colour words, the most telling first.

    Example:
        >>> admitted(("greyish", "brown"))
        ('grey-brown', 'brown', 'grey')
        >>> admitted(("rusty",))
        ('rufous',)
    """
    plain = [COLOURS[word] for word in words]
    if len(plain) >= 2 and plain[-1] != plain[-2]:
        mixed = _MIXED.get((plain[-2], plain[-1]))
        return mixed if mixed is not None else (plain[-1],)
    return _SINGLE.get(plain[-1], (plain[-1],))


# --- patterns and shapes -----------------------------------------------------------------------------------------

PATTERNS = column("looks", "fact")
"""Pattern word -> pattern."""

_SHAPES = rows("shapes")
SHAPES: Mapping[str, Mapping[str, str]] = {
    part: {word: shape for of, word, shape in _SHAPES if of == part} for part, _, _ in _SHAPES if part != "bird"
}
"""Part -> shape word -> shape."""

SIZES: Mapping[str, str] = {word: size for part, word, size in _SHAPES if part == "bird"}
"""Size word -> size of the whole bird."""
