"""A small in-memory knowledge base of six birds and four terms, and two butterflies."""

from data.records import Source, SpeciesEntry, Statement, Summary, Taxon, Term, taxon_id
from tests.memory_store import BagOfWords, ShelfStore

ENCODER = BagOfWords()


def entry(
    name: str, common: str, *sentences: str, family: str = "Avidae", order: str = "Aviformes", class_name: str = "Aves"
) -> SpeciesEntry:
    taxon = Taxon(
        taxon_id=taxon_id(name),
        scientific_name=name,
        rank="species",
        common_names=(common,),
        lineage={"class": class_name, "order": order, "family": family, "genus": name.split()[0]},
    )
    summary = Summary(statements=tuple(Statement(text=s) for s in sentences)) if sentences else None
    source = Source(title=common, url=f"https://wiki.example/{taxon.taxon_id}", revision=3, licence="CC BY-SA 4.0")
    return SpeciesEntry(taxon=taxon, source=source, summary=summary)


def butterfly(name: str, common: str, *sentences: str) -> SpeciesEntry:
    return entry(name, common, *sentences, family="Nymphalidae", order="Lepidoptera", class_name="Insecta")


CARDINALS = {"family": "Cardinalidae", "order": "Passeriformes"}
LOOKS = ("The male is red.", "It has a red crest and a black face.")
CARDINAL = entry("Cardinalis cardinalis", "Northern Cardinal", *LOOKS, **CARDINALS)
SPECIES = [
    CARDINAL,
    entry("Cardinalis sinuatus", "Pyrrhuloxia", "It is grey with a red crest and a yellow bill.", **CARDINALS),
    entry("Nycticorax nycticorax", "Black-crowned Night Heron", "The crown and back are black.", "The eyes are red."),
    entry("Tyto alba", "Western Barn Owl", "The face is white and heart-shaped.", order="Strigiformes"),
    entry("Bubo bubo", "Eurasian Eagle-Owl", family="Strigidae", order="Strigiformes"),
    entry("Calidris pugnax", "Ruff", "The male has a large ruff of feathers around the neck.", family="Scolopacidae"),
]
AMPLEXUS = Term(
    term_id="term:amplexus",
    name="amplexus",
    definition="The mating embrace of frogs and toads: the male clasps the female from behind",
    look_for="A smaller frog that sits on the back of a larger one.",
    source=Source(title="Amplexus", url="https://wiki.example/amplexus", revision=9, licence="CC BY-SA 4.0"),
)
BARS = "Narrow bands across a feather."
TERMS = [
    AMPLEXUS,
    Term(term_id="term:supercilium", name="supercilium", definition="A stripe above the eye.", aliases=("eyebrow",)),
    Term(term_id="term:barring", name="barring", definition=BARS, look_for="Lines across.", aliases=("bars",)),
    Term(term_id="term:nuptial-pad", name="nuptial pad", definition="A swelling on the thumb of a male frog."),
]
STORE = ShelfStore(SPECIES, TERMS, ENCODER)

BUTTERFLIES = [
    butterfly(
        "Aglais io", "Peacock", "The wings are rusty red.", "Each wing tip carries a large eyespot in black and blue.",
        "The caterpillar is black with white dots.", "The pupa is green or grey-brown with two horns.",
    ),
    butterfly(
        "Danaus plexippus", "Monarch", "The wings are orange with black veins.",
        "The caterpillar is ringed in black, white and yellow.",
    ),
]  # fmt: skip
