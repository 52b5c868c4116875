"""Colours: inks mixed by hand under names that a birder would use, and the plain colour word for any RGB value."""

from __future__ import annotations

import colorsys

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
}


FAMILIES: dict[str, tuple[str, ...]] = {
    "buff": ("buff", "brown"),
    "chestnut": ("brown",),
    "cream": ("buff", "white", "grey"),
    "olive": ("olive", "brown", "green"),
    "rust": ("orange", "brown"),
    "white": ("white", "grey"),
}
"""Colour words of field guides -> what `colour_word` may call them, in light and in shadow; others have one word."""


def ink(name: str) -> Colour:
    """Return the RGB value of an ink.

    Raises:
        ValueError: naming the inks there are.
    """
    if name not in INKS:
        raise ValueError(f"expected one of {', '.join(sorted(INKS))}, got {name!r}")
    return INKS[name]


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return `one` with that share (0..1) of `other` in it."""
    r, g, b = (round(a + (c - a) * share) for a, c in zip(one, other, strict=True))
    return r, g, b


def darker(colour: Colour, share: float = 0.35) -> Colour:
    """Return the colour with a share of a cool black in it, as shadow is painted."""
    return mix(colour, (18, 20, 34), share)


def lighter(colour: Colour, share: float = 0.3) -> Colour:
    """Return the colour with a share of a warm white in it."""
    return mix(colour, (255, 252, 244), share)


def shifted(colour: Colour, *, hue: float = 0.0, strength: float = 1.0, light: float = 1.0) -> Colour:
    """Return the colour with its hue turned (in circles), its saturation and brightness multiplied."""
    h, s, v = colorsys.rgb_to_hsv(*(part / 255 for part in colour))
    r, g, b = colorsys.hsv_to_rgb((h + hue) % 1.0, min(1.0, s * strength), min(1.0, v * light))
    return round(r * 255), round(g * 255), round(b * 255)


def colour_word(colour: Colour) -> str:
    """Return the plain English colour word for an RGB value.

    Example:
        >>> colour_word((204, 34, 40)), colour_word((250, 212, 40)), colour_word((28, 27, 30))
        ('red', 'yellow', 'black')
    """
    h, s, v = colorsys.rgb_to_hsv(*(part / 255 for part in colour))
    degrees = h * 360
    if v < 0.24:
        return "black"
    if s < 0.12:
        return "white" if v > 0.84 else "grey" if v > 0.3 else "black"
    if s < 0.3 and 170 <= degrees <= 280:
        return "grey" if v < 0.8 else "white" if s < 0.14 else "grey"
    if degrees < 14 or degrees >= 330:
        if s < 0.62 and v > 0.75:
            return "pink"
        return "red" if v > 0.42 and s > 0.55 else "brown"
    if degrees < 44:
        if s < 0.3:
            return "white" if v > 0.84 else "grey"
        if v > 0.8:
            return "orange" if s > 0.62 else "buff"
        return "brown" if v < 0.72 or s < 0.6 else "orange"
    if degrees < 68:
        if s < 0.3:
            return "white" if v > 0.84 else "grey"
        return "yellow" if v > 0.6 else "olive" if v > 0.3 else "brown"
    if degrees < 170:
        return "green" if s > 0.2 else "grey"
    if degrees < 255:
        return "blue"
    return "purple" if s > 0.2 else "grey"
