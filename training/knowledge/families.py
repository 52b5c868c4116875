"""Common nouns for families, for sentences that must not name the species."""

from __future__ import annotations

from collections.abc import Mapping

from data.records import Taxon

NOUNS: Mapping[str, str] = {
    family: noun
    for noun, families in {
        "owl": "Strigidae Tytonidae",
        "woodpecker": "Picidae",
        "hummingbird": "Trochilidae",
        "kingfisher": "Alcedinidae",
        "parrot": "Psittacidae Psittaculidae Cacatuidae Strigopidae",
        "heron": "Ardeidae",
        "pigeon": "Columbidae",
        "cuckoo": "Cuculidae",
        "nightjar": "Caprimulgidae",
        "swift": "Apodidae",
        "crane": "Gruidae",
        "grebe": "Podicipedidae",
        "penguin": "Spheniscidae",
        "albatross": "Diomedeidae",
        "stork": "Ciconiidae",
        "cormorant": "Phalacrocoracidae",
        "pelican": "Pelecanidae",
        "hornbill": "Bucerotidae Bucorvidae",
        "barbet": "Megalaimidae Lybiidae Capitonidae",
        "trogon": "Trogonidae",
        "bee-eater": "Meropidae",
        "raptor": "Accipitridae",
        "vulture": "Cathartidae",
        "wader": "Scolopacidae Charadriidae Recurvirostridae",
        "seabird": "Laridae Alcidae Procellariidae Stercorariidae Sulidae Hydrobatidae Oceanitidae Phaethontidae",
        "waterbird": "Anatidae Rallidae Gaviidae",
        "gamebird": "Phasianidae Odontophoridae Cracidae Numididae",
        "swallow": "Hirundinidae",
        "sunbird": "Nectariniidae",
        "honeyeater": "Meliphagidae",
        "wren": "Troglodytidae",
        "nuthatch": "Sittidae",
        "songbird": "Turdidae Muscicapidae Parulidae Passerellidae Emberizidae Fringillidae Thraupidae Icteridae "
        "Cardinalidae "
        "Paridae Sylviidae Phylloscopidae Acrocephalidae Locustellidae Cisticolidae Estrildidae Ploceidae Passeridae "
        "Motacillidae Mimidae Sturnidae Regulidae Vireonidae Pycnonotidae Tyrannidae Laniidae Oriolidae Corvidae "
        "Leiothrichidae Timaliidae Pellorneidae Zosteropidae Dicaeidae Campephagidae Monarchidae Rhipiduridae "
        "Dicruridae Alaudidae Prunellidae Certhiidae Polioptilidae Acanthizidae Maluridae Petroicidae Pachycephalidae",
    }.items()
    for family in families.split()
}
"""Family -> a noun that holds for all of its members."""


def noun_of(taxon: Taxon) -> str:
    """Return the noun for a bird of that family, `bird` if there is none for all of them."""
    return NOUNS.get(taxon.lineage.get("family", ""), "bird")
