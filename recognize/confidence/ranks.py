"""Ranks of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

JudgedRank = Literal["species", "genus", "family", "order"]
RANKS: Final[tuple[JudgedRank, ...]] = ("species", "genus", "family", "order")
Lineage = Mapping[str, str]
"""Rank -> name for one species, with `genus`, `family` and `order` if known."""
