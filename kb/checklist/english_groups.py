"""English names of bird orders and families; AviList itself has English names for species only."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def english_groups() -> Mapping[str, tuple[str, ...]]:
    """Return order or family -> its English names, without groups that are named after their only species.

    Example:
        >>> english_groups()["Columbiformes"]
        ('Pigeons and Doves', 'Pigeons', 'Doves')
    """
    table = files("kb.checklist").joinpath("english_groups.csv").read_text(encoding="utf-8")
    return {row["group"]: tuple(row["english_names"].split(";")) for row in csv.DictReader(table.splitlines())}
