"""Miniature data sets: the shipped drawings of birds in the published layouts, so that every command runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from papers.catalogue import Paper, Table
from papers.commands import EXTRACTIVE, Places


def make_miniature(paper: Paper, table: Table, places: Places, *, is_dry_run: bool = False) -> Places:
    """Write the data sets of a table below `places.root` unless they are there, and return places for commands on them.

    The knowledge base is built from a folder of articles with the starter encoders, by the paper's distiller if there
    is a text model.

    Raises:
        UsageError: if the folder holds other files.
    """
    from papers.miniature.write import write_data_sets

    if not is_dry_run:
        folders = [Path(paper.data[name].path).parts[0] for name in table.data]
        write_data_sets(places.root, ["articles", *folders])
    return replace(
        places,
        is_miniature=True,
        articles=("--source", f"folder:{places.root / 'articles'}"),
        distiller="model-two-pass" if "text" in places.llm else EXTRACTIVE,
    )
