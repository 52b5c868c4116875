"""Inks and their mixtures, under names that a birder would use."""

from __future__ import annotations

Colour = tuple[int, int, int]

INKS: dict[str, Colour] = {
    "black": (28, 27, 30),
    "soot": (48, 46, 50),
    "slate": (88, 96, 110),
    "grey": (140, 144, 150),
    "pale grey": (190, 194, 198),
    "blue grey": (118, 136, 158),
    "white": (246, 245, 240),
    "cream": (240, 226, 196),
    "buff": (222, 188, 138),
    "sand": (205, 170, 120),
    "brown": (122, 84, 54),
    "dark brown": (74, 52, 38),
    "warm brown": (150, 98, 58),
    "olive brown": (128, 106, 70),
    "chestnut": (140, 62, 36),
    "rust": (204, 96, 40),
    "orange": (240, 130, 30),
    "robin orange": (226, 104, 40),
    "amber": (246, 176, 40),
    "yellow": (250, 212, 40),
    "lemon": (248, 228, 74),
    "lime": (176, 206, 70),
    "green": (46, 128, 74),
    "bottle green": (16, 104, 70),
    "olive": (136, 140, 72),
    "turquoise": (40, 180, 200),
    "sky blue": (76, 158, 222),
    "blue": (50, 104, 190),
    "royal blue": (38, 68, 160),
    "midnight": (30, 40, 84),
    "violet": (96, 70, 150),
    "pink": (246, 150, 160),
    "salmon": (240, 110, 100),
    "red": (204, 34, 40),
    "cardinal": (206, 30, 38),
    "crimson": (168, 20, 40),
    "flesh": (214, 158, 140),
    "horn": (112, 104, 96),
    "bark": (128, 104, 82),
    "stone": (176, 172, 164),
    "water": (178, 204, 214),
    "moss": (150, 162, 112),
    "dull cardinal": (192, 47, 43),
    "hoopoe buff": (217, 162, 111),
    "shadow": (18, 20, 34),
    "light": (255, 252, 244),
}


def colour(text: str | Colour) -> Colour:
    """Return the RGB value of an ink or of a mixture, each ink added to the mixture before it.

    Raises:
        ValueError: if an ink is unknown.

    Example:
        >>> colour("blue + 25% white")
        (99, 139, 202)
    """
    if not isinstance(text, str):
        return text
    mixture, *more = text.split(" + ")
    found = ink(mixture)
    for share, _, name in (part.partition("% ") for part in more):
        found = mix(found, ink(name), float(share) / 100)
    return found


def ink(name: str) -> Colour:
    """Return the RGB value of an ink.

    Raises:
        ValueError: if the ink is unknown; the message lists the known ones.
    """
    if name not in INKS:
        raise ValueError(f"Unknown ink {name!r}. Known inks: {', '.join(sorted(INKS))}.")
    return INKS[name]


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return `one` with a share (0..1) of `other`."""
    r, g, b = (round(a + (c - a) * share) for a, c in zip(one, other, strict=True))
    return r, g, b


def darker(colour: Colour, share: float = 0.35) -> Colour:
    """Return the colour with a share of cool black, as shadow is painted."""
    return mix(colour, INKS["shadow"], share)


def lighter(colour: Colour, share: float = 0.3) -> Colour:
    """Return the colour with a share of warm white."""
    return mix(colour, INKS["light"], share)
