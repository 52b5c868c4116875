"""Classes of NABirds, Birdsnap, Indian Birds and of VR-RAG's lists that AviList has under another name.

They hold for these datasets alone: the Hoopoe of Indian Birds is the Eurasian one, that of other lists may not be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kb.checklist.cub_names import CUB_NAMES

_NAMES: Final[Mapping[str, str]] = {
    "Gray Jay": "Perisoreus canadensis",
    "Thayer's Gull": "Larus glaucoides",  # a subspecies today
    "Hoopoe": "Upupa epops",
    "Indian-Peacock": "Pavo cristatus",
    "White-Breasted-Kingfisher": "Halcyon smyrnensis",
    "Nelson's Sharp-tailed Sparrow": "Ammospiza nelsoni",
}
_IN_NORTH_AMERICA: Final[Mapping[str, str]] = {
    "Barn Owl": "Tyto furcata",
    "Herring Gull": CUB_NAMES["062.Herring_Gull"],
    "Mew Gull": "Larus brachyrhynchus",
    "Northern Goshawk": "Astur atricapillus",
    "Whimbrel": "Numenius hudsonicus",
    "Yellow Warbler": CUB_NAMES["182.Yellow_Warbler"],
}
"""Species that were split since: elsewhere these names are species of the Old World or the tropics."""
_IN_LISTS: Final[Mapping[str, str]] = {
    "Gray_Jay": _NAMES["Gray Jay"],
    "Thayers_Gull": _NAMES["Thayer's Gull"],
    **{name.partition(".")[2]: species for name, species in CUB_NAMES.items()},
}
"""Names of folders in VR-RAG's lists: those of CUB-200-2011 have no numbers."""


def species_of_class(label: str, *, in_north_america: bool = False) -> str:
    """Return the binomial of a class under another name; the class itself for all others.

    Args:
        label: the class.
        in_north_america: whether all photos are from there, as in NABirds and Birdsnap.

    Example:
        >>> species_of_class("Gray Jay"), species_of_class("Whimbrel")
        ('Perisoreus canadensis', 'Whimbrel')
        >>> species_of_class("Whimbrel", in_north_america=True)
        'Numenius hudsonicus'
    """
    found = _IN_NORTH_AMERICA.get(label) if in_north_america else None
    return found or _NAMES.get(label, label)


def species_of_folder(name: str, *, in_north_america: bool = False) -> str:
    """Return the same for a folder in a list of VR-RAG.

    Example:
        >>> species_of_folder("Gray_Jay"), species_of_folder("Hoopoe"), species_of_folder("Nighthawk")
        ('Perisoreus canadensis', 'Upupa epops', 'Chordeiles minor')
        >>> species_of_folder("Mew_Gull", in_north_america=True)
        'Larus brachyrhynchus'
    """
    found = _IN_NORTH_AMERICA.get(name.replace("_", " ")) if in_north_america else None
    return found or _IN_LISTS.get(name, species_of_class(name))
