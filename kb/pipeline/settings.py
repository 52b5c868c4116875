"""Settings of a build: light to import, so that the command line reads them here."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """Settings of `kb build` and `kb update`."""

    anchors_per_species: int = 3
    """Largest number of reference photos per species. VR-RAG, section 5.2: up to three."""
    max_failures_in_a_row: int = 12
    """Failed pages in a row after which a build stops, since the wiki or the model is down."""
    chroma: str | None = None
    """Place of the Chroma collections: `folder`, or the address of a server such as `http://localhost:8000`; existing
    collections are moved. Default: the folder, until a build chooses another."""

    def __post_init__(self) -> None:
        if self.anchors_per_species < 0:
            raise ValueError(f"expected anchors_per_species of at least 0, got {self.anchors_per_species}")
        if self.max_failures_in_a_row < 1:
            raise ValueError(f"expected max_failures_in_a_row of at least 1, got {self.max_failures_in_a_row}")
        if self.chroma not in (None, "folder"):
            parts = urlsplit(self.chroma)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"expected chroma as http://HOST:PORT or folder, got {self.chroma!r}")

    @property
    def chroma_address(self) -> str | None:
        """Address of the server; empty for the folder, None to leave the collections where they are."""
        return "" if self.chroma == "folder" else self.chroma


DEFAULTS = BuildSettings()
