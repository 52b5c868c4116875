"""Names of the papers, for the command line: light to import."""

from __future__ import annotations

from typing import Final

PAPERS: Final = ("vr-rag", "divide-and-conquer", "cotrr", "visret", "interactive-retrieval")
