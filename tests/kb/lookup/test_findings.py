from dataclasses import replace

import kb
from data.records import QueryPart, Taxon, Term
from data.starter.knowledge import read_terms
from data.words import capitalised
from kb.lookup.context import context
from kb.lookup.findings import is_plain, query_parts
from kb.lookup.mentions import NameFinder, term_of_group
from tests.kb.lookup.shelf import AMPLEXUS, BUTTERFLIES, CARDINAL, ENCODER, SPECIES, STORE, TERMS, butterfly, entry
from tests.memory_store import ShelfStore

PASSAGE = (
    "Amplexus: The mating embrace of frogs and toads: the male clasps the female from behind. "
    "What to look for: A smaller frog that sits on the back of a larger one."
)
LOOKS = "Northern Cardinal (Cardinalis cardinalis): The male is red. It has a red crest and a black face."


def test_terms_and_species_are_found_by_name_or_clear_description_each_with_its_source_once() -> None:
    for query in ("Two frogs in amplexus", "mating embrace of frogs"):
        found = context(STORE, query, ENCODER)
        assert (found.passage, found.sources) == (PASSAGE, (AMPLEXUS.source,)), query
        assert [(note.name, note.look_for) for note in found.terms] == [("amplexus", AMPLEXUS.look_for)]
    twins = ShelfStore([], [*TERMS, replace(AMPLEXUS, term_id="term:zorb", name="zorb")], ENCODER)
    assert not context(twins, "mating embrace of frogs", ENCODER).terms, "of two equal ones, neither"
    for query in ("Two Northern Cardinals at a feeder", "northern cardinal's nest", "Cardinalis cardinalis in snow"):
        found = context(STORE, query, ENCODER)
        assert (found.passage, found.sources) == (LOOKS, (CARDINAL.source,)), query
    found = context(STORE, "bird with a red crest and black face", ENCODER)
    assert found.sources == (CARDINAL.source,)
    found = context(STORE, "Amplexus of frogs near a northern cardinal, amplexus again", ENCODER)
    assert (found.passage, found.sources) == (f"{PASSAGE} {LOOKS}", (AMPLEXUS.source, CARDINAL.source))
    for query in ("a barred owl's tail", "Bars on the tail", "eyebrows", "NUPTIAL PADS", "nuptial-pad of a frog"):
        assert len(context(STORE, query, ENCODER).terms) == 1, query
    [heron] = context(STORE, "black crowned night-herons roosting", ENCODER).sources
    assert heron.title == "Black-crowned Night Heron"
    kea = entry("Nestor notabilis", "Kea", "The back is olive-green.")
    assert context(ShelfStore([*SPECIES, kea], TERMS, ENCODER), "two keas on a car", ENCODER).sources == (kea.source,)


def test_groups_are_listed_beside_the_passage_and_long_ones_shortened() -> None:
    for query, name in (("owls", "Owls"), ("An owl in flight", "Owl"), ("Strigiformes", "Strigiformes")):
        found = context(STORE, query, ENCODER)
        assert found.groups == (f"{name}: Eurasian Eagle-Owl, Western Barn Owl",)
        assert "Eurasian Eagle-Owl" not in found.passage
    wrens = [entry(f"Avis species{chr(97 + i)}", f"Z{i} Wren") for i in range(26)]
    members = ", ".join(f"Z{i} Wren" for i in range(8))
    for query, listed in (("Avidae", f"{members} and 18 more"), ("wrens", "Avidae (26 species)")):
        assert context(ShelfStore(wrens, [], ENCODER), query, ENCODER).groups == (f"{capitalised(query)}: {listed}",)
    warbler = entry("Phylloscopus inornatus", "Yellow-browed Warbler", family="Phylloscopidae")
    for query in ("leaf warblers", "a leaf warbler"):
        [listed] = context(ShelfStore([warbler], [], ENCODER), query, ENCODER).groups
        assert listed == f"{capitalised(query.removeprefix('a '))}: Yellow-browed Warbler"
    wrens.append(entry("Avis rubra", "Red Wren", "The crown is red."))
    [listed] = context(ShelfStore(wrens, [], ENCODER), "a wren with a red crown", ENCODER).groups
    assert listed.startswith("Wren: Red Wren, Z0 Wren, ") and listed.endswith(" and 19 more"), "that look like it first"


def test_queries_outside_the_knowledge_base_are_not_found() -> None:
    for query in (
        "xyzzy", "   ", "a red car", "the male lead of a film", "a person with a red face and black shoes",
        "large dog on the back of a truck", "a striped shirt with a yellow collar", "the of and", "鳥",
        "a spotted owl in a tree hole", "Spotted Owl",  # no unknown species is matched as its group
    ):  # fmt: skip
        found = context(STORE, query, ENCODER)
        assert (found.found, found.passage, found.terms, found.sources) == (False, "", (), ()), query
        assert (found.query, query_parts(STORE, query)) == (query, [])
    assert context(STORE, "two owls in a tree hole", ENCODER).found
    assert not context(ShelfStore([], [], ENCODER), "northern cardinal with a red crest", ENCODER).found
    found = context(STORE, "two eurasian eagle owls", ENCODER)
    assert (found.passage, found.sources, found.unexplained) == ("", (), ("eurasian eagle owls",)), "without summary"


def test_the_longest_name_wins_and_english_words_and_hyphens_do_not_mislead() -> None:
    terms = [*TERMS, Term(term_id="term:crown", name="crown", definition="The top of the head.")]
    found = NameFinder([item.taxon for item in SPECIES], terms).find("The black-crowned night heron has a dark crown")
    assert [(mention.kind, mention.text, mention.start) for mention in found] == [
        ("species", "black-crowned night heron", 4),
        ("term", "crown", 41),
    ]
    finder = NameFinder([replace(CARDINAL.taxon, scientific_name="Dives dives", common_names=())], [])
    assert finder.find("An osprey dives into water") == finder.find("Dives into water") == []
    assert [mention.kind for mention in finder.find("Birds of the genus Cardinalis")] == ["group"]
    sparrow = Taxon(
        taxon_id="p-i", scientific_name="Passerella iliaca", rank="species",
        common_names=("Fox Sparrow", "Red Fox-sparrow"), lineage={"class": "Aves"},
    )  # fmt: skip
    assert [mention.ids for mention in NameFinder([sparrow], []).find("a Fox Sparrow")] == [("p-i",)]


def test_the_term_of_the_groups_in_question_is_chosen() -> None:
    gills = [Term(term_id=group, name="gills", definition="", group=group) for group in ("fungi", "fish")]
    chosen = (
        term_of_group(gills, named, own) for named, own in (({"fish"}, ()), ((), ()), ((), ["fish"]), ({"birds"}, ()))
    )
    assert [term and term.group for term in chosen] == ["fish", "fungi", "fish", None]


def test_query_parts_follow_the_query_and_describe_appearance() -> None:
    ruff, on_back = "The male has a large ruff of feathers around the neck.", AMPLEXUS.look_for
    assert query_parts(STORE, "a ruff, two owls and cardinals in Amplexus") == [
        QueryPart(kind="species", text="ruff", name="Ruff", looks=ruff, taxon_ids=("calidris-pugnax",)),
        QueryPart(kind="group", text="owls", name="owls", taxon_ids=("bubo-bubo", "tyto-alba")),
        QueryPart(kind="group", text="cardinals", name="cardinals", taxon_ids=("cardinalis-cardinalis",)),
        QueryPart(kind="term", text="Amplexus", name="amplexus", looks=on_back),
    ]


LEFT: dict[str, tuple[str, ...]] = {
    "frogs in amplexus position": (), "northern cardinal on a fence post": (),
    "a pyrrhuloxia and a dog in the snow, 26 metres away": (), "a pyrrhuloxia fledgling in a tree": (),
    "two zebras and a dog in the snow, 26 metres away": ("zebras",), "a dark-coloured deer": ("deer",),
    "a maple tree": ("maple",), "a wet crab": ("crab",), "a pyrrhuloxia on a cassava plant": ("cassava",),
    "an oxpecker on a zebra": ("oxpecker", "zebra"), "female beautiful demoiselle": ("demoiselle",),
    "fire pink": ("fire pink",), "a dog in the snow, 26 metres away": ("dog", "snow", "metres away"),
    "frogs in amplexus beside an osmeterium": ("osmeterium",), "eurasian eagle-owl perched": ("eurasian eagle-owl",),
    "a fiddler crab, a mud dauber wasp": ("fiddler crab", "mud dauber wasp"),
    "a white-tailed deer": ("white-tailed deer",), "male Sunflower Sea Star": ("Sunflower Sea Star",),
    "adult male Misumena vatia": ("Misumena vatia",), "a Star-nosed Mole's nose": ("Star-nosed Mole",),
    "a pyrrhuloxia caterpillar": ("caterpillar",), "a pyrrhuloxia frog": ("frog",), "a pyrrhuloxia bird": (),
    "FROGS IN AMPLEXUS": (), "": (), "?!": (), "26": (), "mating embrace of frogs": (),
}  # fmt: skip


def test_names_and_unusual_words_without_an_explanation_are_listed() -> None:
    assert not is_plain("dark-osmeterium") and is_plain("darkly")
    for query, left in LEFT.items():
        assert kb.context(STORE, query, ENCODER).unexplained == left, query
    with_prey, alone = (kb.context(STORE, f"a pyrrhuloxia{end}", ENCODER).passage for end in (" caterpillar", ""))
    assert with_prey == alone, "no larva of a bird"


def test_groups_terms_and_nouns_beside_names_explain_only_what_they_stand_for() -> None:
    swans = [
        entry(f"Cygnus s{i}", f"{name} Swan", family="Anatidae") for i, name in enumerate(("Mute", "Black", "Tundra"))
    ]
    found = kb.context(ShelfStore(swans, [], ENCODER), "Tagged swan", ENCODER)
    assert (len(found.groups), found.passage, found.unexplained) == (1, "", ())
    assert kb.context(ShelfStore(swans, [], ENCODER), "a swan and a Swan Goose", ENCODER).unexplained == ("Swan Goose",)
    condor = ShelfStore([entry("Gymnogyps californianus", "California Condor")], read_terms(), ENCODER)
    found = kb.context(condor, "a California condor tagged with green 26", ENCODER)
    assert (found.passage, found.terms, found.unexplained) == ("", (), ("California condor",)), (
        "every reader knows tags"
    )
    assert kb.context(condor, "tag", ENCODER).passage.startswith("Tag: A mark")
    store = ShelfStore([*BUTTERFLIES, butterfly("Vanessa atalanta", "Red Admiral")], read_terms(), ENCODER)
    found = kb.context(store, "Nymphalidae butterflies feeding", ENCODER)
    assert (found.groups, found.unexplained) == (("Nymphalidae: Peacock, Monarch, Red Admiral",), ())
    for query, left in (
        ("a frog and two Nymphalidae", "frog"),
        ("a monarch butterfly on milkweed", "milkweed"),
        ("a monarch and a moth", "moth"),
        ("a monarch pupa", "pupa"),
        ("ein Monarch, auf einer Distel", "Distel"),  # articles and numbers of other languages
        ("dos Monarch en una Distel", "Distel"),
        ("un Monarch sur une Distel", "Distel"),
    ):
        assert kb.context(store, query, ENCODER).unexplained == (left,), query
