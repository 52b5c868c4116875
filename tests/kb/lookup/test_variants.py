import kb
from data.records import QueryPart, Source, Term
from kb.lookup.context_settings import ContextSources
from kb.lookup.findings import query_parts
from kb.lookup.passages import NOT_ORDINARY
from tests.kb.lookup.shelf import ENCODER, entry
from tests.kb.lookup.test_context import Model
from tests.memory_store import ShelfStore

SPECIES = [
    entry(
        "Turdus migratorius", "American Robin", "A plump thrush with a grey back and a thin, pointed bill.",
        "The breast is orange; the throat is white with dark streaks.", "Females are duller.",
        "The young have a spotted breast.", "Leucistic birds show white patches.", "Length 23 to 28 cm.",
    ),
    entry(
        "Anas platyrhynchos", "Mallard", "A large duck with a broad flat bill.", "It has orange legs.",
        "The male has a glossy green head; his bill is yellow.",
        "The female is mottled brown; a dark line runs through the eye.",
    ),
    entry("Corvus brachyrhynchos", "American Crow", "The sexes are alike.", "It is black all over."),
    entry(
        "Gavia immer", "Common Loon", "A large waterbird with a pointed bill.",
        "The head is black, the underparts are white.", "Length 66 to 91 cm.",
    ),
    entry(
        "Fratercula arctica", "Atlantic Puffin", "The back is black.",
        "In summer the bill is orange; it is duller in winter.", "The breeding male has red feet.",
    ),
    entry(
        "Larus delawarensis", "Ring-billed Gull", "A medium-sized gull.", "It is grey above.",
        "First-winter birds have a pink bill with a black tip.",
    ),
]  # fmt: skip
ALBINISM = Term(
    term_id="term:albinism", name="albinism", aliases=("albino",),
    definition="A lack of all pigment, which leaves feathers white and eyes pink.",
)  # fmt: skip
SQUIRREL = Term(
    term_id="term:red-squirrel", name="red squirrel", definition="The red squirrel is a rodent of woods.",
    look_for="It has a reddish coat. It has long ear tufts.",
    source=Source(title="Red squirrel", url="https://wiki.example/squirrel"),
)  # fmt: skip
STORE = ShelfStore(SPECIES, [ALBINISM, SQUIRREL], ENCODER)
ORDINARY = ("orange", "grey back", "white with dark", "green", "yellow", "reddish")
WINTER = frozenset({"winter"})


def passage(query: str) -> str:
    return kb.context(STORE, query, ENCODER).passage


def test_an_albino_robin_keeps_whole_sentences_without_a_colour_and_its_source_also_for_a_model() -> None:
    writer = Model('{"sentences": []}')
    found = kb.context(STORE, "albino American robin", ENCODER, ContextSources(chat=writer))
    assert found.passage == (
        "Albinism: A lack of all pigment, which leaves feathers white and eyes pink. "
        "American Robin (Turdus migratorius): Leucistic birds show white patches. "
        f"Length 23 to 28 cm. {NOT_ORDINARY}"
    )
    assert found.sources == (SPECIES[0].source,) and "orange" not in writer.asked[0]


def test_a_variant_gets_its_own_sentences_and_no_mark_of_the_ordinary_adult() -> None:
    for said, queries in {
        "Leucistic birds show white patches.": ("leucistic American robin", "American Robin with leucism"),
        "The young have a spotted breast.": ("juvenile American robin", "American robin chick"),
        "Females are duller.": ("female American robin", "American robin, female", "female or juvenile American robin"),
        "The female is mottled brown; a dark line runs through the eye.": ("female mallard",),
        "A large duck with a broad flat bill.": ("hybrid mallard", "a hybrid of mallard and American black duck"),
        "It has long ear tufts.": ("melanistic red squirrel",),
    }.items():
        for query in queries:
            found = passage(query)
            assert said in found, query
            # The others have looks of their own.
            assert (NOT_ORDINARY in found) == any(word in query for word in ("leucis", "hybrid")), query
            assert not [mark for mark in ORDINARY if mark in found], query


def test_marks_of_ordinary_adults_stay_where_they_hold() -> None:
    for said, queries in {
        "The breast is orange": (
            "American robin", "American robin feeding its chick", "American robin with chicks", "adult American robin",
            "an American robin in winter snow",
        ),
        "glossy green head": (
            "male mallard", "male and female mallard", "a mallard and a female goose", "mallard with ducklings",
            "a mallard under a lunar eclipse",
        ),
        "black all over": ("female American crow",),
        "reddish coat": ("red squirrel",),
        "The head is black": ("common loon in breeding plumage in winter",),
        "red feet": ("Atlantic puffin",),
    }.items():  # fmt: skip
        for query in queries:
            found = passage(query)
            assert said in found and NOT_ORDINARY not in found, query
    assert "mottled" not in passage("male mallard")
    told = passage("an American crow and an albino American robin")
    assert "black all over" in told and "orange" not in told, "the colours of the robin alone are left out"
    first = "American Robin (Turdus migratorius): The breast is orange; the throat is white"
    assert passage("American robin with a white throat").startswith(first), "sentences on the query come first"


def test_no_mark_of_the_ordinary_adult_holds_for_another_plumage_or_age() -> None:
    for query in (
        "a downy mallard duckling", "mallard, newly hatched", "female mallard in winter plumage", "piebald mallard",
        "mallard out of breeding plumage", "1st winter mallard", "adult mallard in eclipse",
    ):  # fmt: skip
        assert passage(query) == f"Mallard (Anas platyrhynchos): A large duck with a broad flat bill. {NOT_ORDINARY}"


def test_seasons_and_ages_lose_only_marks_that_do_not_hold_for_them() -> None:
    gull = "Ring-billed Gull (Larus delawarensis): First-winter birds have a pink bill with a black tip. "
    for query in ("first-winter ring-billed gull", "a ring-billed gull in its 1st winter"):
        assert passage(query) == f"{gull}A medium-sized gull.", "without a size in figures"
    loon = "Common Loon (Gavia immer): A large waterbird with a pointed bill."
    assert passage("common loon chick") == f"{loon} {NOT_ORDINARY}"
    for query in ("common loon in winter", "winter plumage common loon", "winter common loon"):
        assert passage(query) == f"{loon} Length 66 to 91 cm. {NOT_ORDINARY}", query
    puffin = "Atlantic Puffin (Fratercula arctica): "
    told = "In summer the bill is orange; it is duller in winter."
    for query in ("Atlantic puffin in winter", "Atlantic puffin in winter plumage"):
        assert passage(query) == f"{puffin}{told} The back is black.", query


def sex_ages(query: str, *sentences: str) -> list[QueryPart]:
    store = ShelfStore([entry("Anas viridis", "Green Duck", *sentences)], [], ENCODER)
    return [part for part in query_parts(store, query) if part.kind == "sex_age"]


def test_the_summary_tells_the_sex_or_age_from_the_others() -> None:
    both = ("The bill is yellow.", "The male is green with a white collar; the female is brown.")
    male, female, young = "The male is green with a white collar.", "The female is brown.", "Juveniles are grey."
    alike, duller = "The young look like the female.", "The female is duller than the male."
    for query, word, sentences, kind, looks, unlike in (
        ("Green Duck drake", "drake", both, "male", male, female),
        ("a Female breeding Green Duck", "Female", both, "female", female, male),
        ("a Green Duck duckling", "duckling", ("The bird is green.", young), "juvenile", young, "The bird is green."),
        (
            "a female Green Duck",
            "female",
            (alike, duller, "Adults are red."),
            "female",
            duller,
            f"{alike} Adults are red.",
        ),
    ):
        [part] = sex_ages(query, *sentences)
        assert (part.text, part.name, part.looks, part.unlike) == (word, f"{kind} Green Duck", looks, unlike), query
        assert part.taxon_ids == ("anas-viridis",)
    for query, *sentences in (
        ("a male Green Duck", "The male is green."),
        ("a male Green Duck",),
        ("an adult Green Duck", "The male is green.", "The female is brown."),
        ("a Green Duck feeding a male", "The male is green.", "The female is brown."),
    ):
        assert sex_ages(query, *sentences) == [], query
