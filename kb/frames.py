"""A knowledge base as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from data.frames import Columns, frame_of

if TYPE_CHECKING:
    import pandas as pd

    from kb.store.knowledge_base import KnowledgeBase

STATUS: Final[Columns] = {
    "family": "text", **dict.fromkeys(("species", "articles", "summaries", "reference_photos"), "integer")
}  # fmt: skip


def to_frame(store: KnowledgeBase, table: Literal["species", "sources", "status"] = "species") -> pd.DataFrame:
    """Return a table of a knowledge base as a pandas frame.

    Texts are `str`, whole numbers `Int64`, dates `datetime64[s]`; several names in a cell are joined with semicolons.

    Args:
        store: the knowledge base.
        table: `species`, a row per species in the order of the checklist: `scientific_name`, `common_name`, `order`,
            `family`, `is_included` (`bool`), `description_words`, `reference_photos` (`Int64`), `notes`, `taxon_id`.
            `sources`, a row per article and photo: `kind`, `title`, `url`, `revision` (`Int64`), `author`, `licence`,
            `licence_url`, `freedom`, `publishable`, `adapted` (`bool`), `species`, `sha256`, `accessed` (date).
            `status`, a row per family with the numbers of `species` looked for and of those with `articles`,
            `summaries` and `reference_photos` (`Int64`).

    Raises:
        ValueError: for another table.
    """
    if table == "species":
        from kb.lookup.entries import SPECIES, list_species

        return frame_of(list_species(store), SPECIES)
    if table == "sources":
        from kb.curate.credits import collect_credits

        return collect_credits(store).to_frame()
    if table == "status":
        from kb.store.status import family_coverage

        return frame_of(family_coverage(store.ledger), STATUS)
    raise ValueError(f"expected species, sources or status, got {table!r}")
