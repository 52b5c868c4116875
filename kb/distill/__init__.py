"""Distilling: sentences on looks chosen from an article, and trimmed; names of the distillers."""

from __future__ import annotations

from typing import Final, Literal, get_args

DistillerName = Literal["extractive", "model", "model-two-pass", "model-summary", "article", "chunks"]
DISTILLERS: Final[tuple[DistillerName, ...]] = get_args(DistillerName)
DEFAULT: Final[DistillerName] = "extractive"
AS_IS: Final = "as-is/1"
"""Distiller of summaries that are the user's text, word for word."""
