"""Species of the CUB-200-2011 classes that AviList lists under another name.

The photos are from North America, so the name of a group means its common species there. Class 103, Sayornis, shows
several species and has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CUB_NAMES: Final[Mapping[str, str]] = {
    "017.Cardinal": "Cardinalis cardinalis",
    "044.Frigatebird": "Fregata magnificens",
    "062.Herring_Gull": "Larus smithsonianus",
    "074.Florida_Jay": "Aphelocoma coerulescens",
    "083.White_breasted_Kingfisher": "Halcyon smyrnensis",
    "091.Mockingbird": "Mimus polyglottos",
    "092.Nighthawk": "Chordeiles minor",
    "101.White_Pelican": "Pelecanus erythrorhynchos",
    "105.Whip_poor_Will": "Antrostomus vociferus",
    "110.Geococcyx": "Geococcyx californianus",
    "126.Nelson_Sharp_tailed_Sparrow": "Ammospiza nelsoni",
    "130.Tree_Sparrow": "Spizelloides arborea",
    "134.Cape_Glossy_Starling": "Lamprotornis nitens",
    "141.Artic_Tern": "Sterna paradisaea",
    "182.Yellow_Warbler": "Setophaga aestiva",
}
