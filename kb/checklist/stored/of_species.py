"""A checklist made of given species: of a table of names that a build takes, for groups that no checklist has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from data.codec import dumps
from data.contracts import Checklist
from data.files import sha256_hex
from data.records import Taxon
from kb.checklist.scientific_names import LADDER
from kb.checklist.stored.indexing import index_checklist
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.checklist.stored.usage import ChecklistFile, Problems, Usage

FORM: Final = "names of a build"


def checklist_of_species(species: Sequence[Taxon], target: Path, name: str) -> StoredChecklist:
    """Write an indexed checklist of these species to `target` and return it.

    Its digest is that of the species, so the same table gives the same checklist.
    """
    digest = sha256_hex(json.dumps([dumps(taxon) for taxon in species]))
    file = ChecklistFile(
        form=FORM, usages=partial(_usages, species), common_names=lambda: iter(()), problems=Problems()
    )
    index_checklist(file, target, {"name": name, "edition": "", "digest": digest, "title": "", "file": ""})
    return StoredChecklist(target)


def is_of_build(checklist: Checklist) -> bool:
    """Return whether a checklist is the table of names of an earlier build."""
    return isinstance(checklist, StoredChecklist) and checklist.meta.get("form") == FORM


def _usages(species: Sequence[Taxon]) -> Iterator[Usage]:
    for number, taxon in enumerate(species, 1):
        key = f"line {number}"
        stated = {name for names in taxon.names_by_language.values() for name in names}
        yield Usage(
            line=number,
            id=key,
            name=taxon.scientific_name,
            rank=taxon.rank,
            higher=tuple((rank, taxon.lineage[rank]) for rank in LADDER if rank in taxon.lineage),
            common_names=(
                *((name, "") for name in taxon.common_names if name not in stated),
                *((name, language) for language, names in taxon.names_by_language.items() for name in names),
            ),
        )
        for synonym in taxon.synonyms:
            yield Usage(line=number, id="", name=synonym, status="synonym", accepted=key)
