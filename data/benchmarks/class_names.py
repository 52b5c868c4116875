"""Classes of NABirds, Birdsnap, Indian Birds and of VR-RAG's lists that AviList has under another name.

They hold for these datasets alone: the Hoopoe of Indian Birds is the Eurasian one, that of other lists may not be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from data.benchmarks.cub_names import CUB_NAMES

_NAMES: Final[Mapping[str, str]] = {
    "Gray Jay": "Perisoreus canadensis",
    "Thayer's Gull": "Larus glaucoides",  # a subspecies today
    "Hoopoe": "Upupa epops",
    "Indian-Peacock": "Pavo cristatus",
    "White-Breasted-Kingfisher": "Halcyon smyrnensis",
    "Nelson's Sharp-tailed Sparrow": "Ammospiza nelsoni",
}
_IN_LISTS: Final[Mapping[str, str]] = {
    "Gray_Jay": _NAMES["Gray Jay"],
    "Thayers_Gull": _NAMES["Thayer's Gull"],
    **{name.partition(".")[2]: species for name, species in CUB_NAMES.items()},
}
"""Names of folders in VR-RAG's lists: those of CUB-200-2011 have no numbers."""


def species_of_class(label: str) -> str:
    """Return the binomial of a class under another name; the class itself for all others.

    Example:
        >>> species_of_class("Gray Jay"), species_of_class("Blue Jay")
        ('Perisoreus canadensis', 'Blue Jay')
    """
    return _NAMES.get(label, label)


def species_of_folder(name: str) -> str:
    """Return the same for a folder in a list of VR-RAG.

    Example:
        >>> species_of_folder("Gray_Jay"), species_of_folder("Hoopoe"), species_of_folder("Nighthawk")
        ('Perisoreus canadensis', 'Upupa epops', 'Chordeiles minor')
    """
    return _IN_LISTS.get(name, species_of_class(name))
