"""Colour words of a picture, for comparing a drawing with the facts of its species."""

from __future__ import annotations

import colorsys
from collections import Counter

from PIL import Image, ImageDraw

from data.starter.knowledge import StarterSpecies
from training.plates.drawing.palette import Colour

LARGE_PARTS = {
    "plumage", "upperparts", "underparts", "head", "body", "breast", "belly", "back", "wing", "tail", "crest", "face",
    "crown", "shoulder",
}  # fmt: skip
FAMILIES: dict[str, tuple[str, ...]] = {
    "buff": ("buff", "brown"),
    "chestnut": ("brown",),
    "cream": ("buff", "white", "grey"),
    "olive": ("olive", "brown", "green"),
    "rust": ("orange", "brown"),
    "white": ("white", "grey"),
}
# Field-guide colour -> the words of `colour_word` for it in light and in shadow.


def wrong_colours(picture: Image.Image, species: StarterSpecies, sex: str) -> list[str]:
    """Return the large parts with a first colour that is missing from the picture."""
    shares = colour_shares(picture)
    wrong = []
    for fact in species.facts:
        if fact.part in LARGE_PARTS and fact.colours and fact.sex in ("both", sex):
            words = FAMILIES.get(fact.colours[0], (fact.colours[0],))
            if sum(shares.get(word, 0.0) for word in words) <= 0.01:
                wrong.append(f"{fact.part} should be {fact.colours[0]}, the drawing has {shares}")
    return wrong


def colour_shares(picture: Image.Image) -> dict[str, float]:
    """Return the share of each colour word in bird and perch; the paper is removed by a fill from the corners."""
    filled = picture.copy()
    right, lower = picture.width - 1, picture.height - 1
    paper = (255, 0, 255)
    for corner in ((0, 0), (right, 0), (0, lower), (right, lower)):
        ImageDraw.floodfill(filled, corner, paper, thresh=45)
    counts = Counter(
        colour_word(colour) for colour, mark in zip(pixels(picture), pixels(filled), strict=True) if mark != paper
    )
    return {word: n / counts.total() for word, n in counts.items()}


def pixels(picture: Image.Image) -> list[tuple[int, int, int]]:
    data = picture.tobytes()
    return [(data[i], data[i + 1], data[i + 2]) for i in range(0, len(data), 3)]


def colour_word(colour: Colour) -> str:
    """Return the plain English colour word for an RGB value."""
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
