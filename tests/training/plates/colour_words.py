"""Colour words of a picture, for comparing a drawing with the facts of its species."""

from __future__ import annotations

import colorsys
from collections import Counter

import numpy as np
from PIL import Image

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
    levels = np.asarray(picture.convert("RGB"))
    paper = np.zeros(levels.shape[:2], dtype=bool)
    for corner in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        if not paper[corner]:
            is_near = np.abs(levels - levels[corner].astype(int)).sum(axis=2) <= 45
            paper |= connected(is_near & ~paper, corner)
    colours, numbers = np.unique(levels[~paper], axis=0, return_counts=True)
    counts: Counter[str] = Counter()
    for (red, green, blue), n in zip(colours.tolist(), numbers.tolist(), strict=True):
        counts[colour_word((red, green, blue))] += n
    return {word: n / counts.total() for word, n in counts.items()}


def connected(area: np.ndarray, start: tuple[int, int]) -> np.ndarray:
    """Return the part of an area that is connected to a pixel through shared edges."""
    height, width = area.shape
    across = np.cumsum(~area, axis=1) + np.arange(height)[:, None] * (width + 1)  # one number for each run of pixels
    down = np.cumsum(~area, axis=0) + np.arange(width) * (height + 1)
    found = np.zeros_like(area)
    found[start] = True
    n = 0
    while n != (n := np.count_nonzero(found)):
        for runs in (across, down):
            is_met = np.zeros(runs.max() + 1, dtype=bool)
            is_met[runs[found]] = True
            found = area & is_met[runs]
    return found


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
