"""Lists of test photos that the authors of VR-RAG published with their code, for birds, fish and creatures of games."""

from __future__ import annotations

import pickletools
from pathlib import Path
from typing import Final

from data.benchmarks.class_names import species_of_folder
from data.benchmarks.species import LabelledPhoto
from data.errors import BadInput

# All that a pickled list of texts needs. None of these loads a class or calls a function, and nothing is unpickled.
_OF_A_LIST: Final = frozenset((
    "PROTO", "FRAME", "EMPTY_LIST", "MARK", "MEMOIZE", "BINPUT", "LONG_BINPUT", "BINUNICODE", "SHORT_BINUNICODE",
    "APPEND", "APPENDS", "STOP",
))  # fmt: skip


def read_test_list(path: Path | str, *, root: Path | str | None = None) -> list[LabelledPhoto]:
    """Return the photos of a list such as `fish_test.pkl`, all of them for testing.

    A list has entries `SPECIES/FILE`: English names for birds (`Abert's Towhee/1.jpg`, `Coopers_Hawk/0561.jpg`,
    `House-Crow/1.jpg`), binomials for fish (`Rhinogobius ogasawaraensis/Rhoga_m1.jpg`), names for creatures of games.

    Args:
        path: the list, a pickled list of texts; its operations are read one by one, without unpickling. The photos of
            `birdsnap_test.pkl` and `nabirds_test.pkl` are from North America.
        root: folder of the photos; by default the folder of the list.

    Source:
        github.com/faixan-khan/vr-rag, `data/*_test.pkl` and `inf.py`. The lists of fish and creatures of games were
        taken out of its later commits; where their photos come from is not stated.

    Raises:
        BadInput: if the file is no such list.
    """
    file = Path(path)
    folder = file.parent if root is None else Path(root)
    in_north_america = file.stem.startswith(("birdsnap", "nabirds"))
    found = []
    for entry in _texts(file):
        species, slash, name = entry.partition("/")
        if not (species and slash and name) or ".." in Path(entry).parts:
            raise BadInput(f"{file}: expected entries such as 'Blue Jay/1.jpg', got {entry!r}")
        label = species_of_folder(species, in_north_america=in_north_america)
        found.append(LabelledPhoto(path=folder / species / name, label=label, split="test"))
    if not found:
        raise BadInput(f"{file} lists no photo")
    return found


def _texts(file: Path) -> list[str]:
    try:
        content = file.read_bytes()
        operations = [(operation.name, value) for operation, value, _ in pickletools.genops(content)]
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} is not a pickled list ({error})") from error
    if unexpected := sorted({name for name, _ in operations} - _OF_A_LIST):
        raise BadInput(f"{file}: expected a pickled list of texts alone, got {', '.join(unexpected)}")
    return [str(value) for name, value in operations if name.endswith("BINUNICODE")]
