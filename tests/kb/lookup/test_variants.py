from pathlib import Path

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
# Kinds of queries: a variant has its own sentences and no mark of the ordinary adult, which stay where they hold.
QUERIES = {
    "variants": (
        "albino American robin", "leucistic American robin", "American Robin with leucism", "melanistic red squirrel",
        "hybrid mallard", "a hybrid of mallard and American black duck", "piebald mallard",
    ),
    "young, and the other sex": (
        "juvenile American robin", "American robin chick", "female American robin", "American robin, female",
        "female or juvenile American robin", "female mallard", "a downy mallard duckling", "mallard, newly hatched",
        "common loon chick", "female American crow",
    ),
    "ordinary adults": (
        "American robin", "American robin feeding its chick", "American robin with chicks", "adult American robin",
        "an American robin in winter snow", "male mallard", "male and female mallard", "a mallard and a female goose",
        "mallard with ducklings", "a mallard under a lunar eclipse", "red squirrel",
        "common loon in breeding plumage in winter", "Atlantic puffin", "American robin with a white throat",
        "an American crow and an albino American robin",
    ),
    "other plumages and seasons": (
        "female mallard in winter plumage", "mallard out of breeding plumage", "1st winter mallard",
        "adult mallard in eclipse", "first-winter ring-billed gull", "a ring-billed gull in its 1st winter",
        "common loon in winter", "winter plumage common loon", "winter common loon", "Atlantic puffin in winter",
        "Atlantic puffin in winter plumage",
    ),
}  # fmt: skip


def recorded() -> str:
    lines = []
    for kind, queries in QUERIES.items():
        lines.append(f"== {kind}")
        for query in queries:
            passage = kb.context(STORE, query, ENCODER).passage
            lines.append(f"{query} <- {passage.replace(NOT_ORDINARY, '(not as the ordinary adult)')}")
    return "\n".join(lines) + "\n"


def test_passages_on_variants_sexes_ages_and_seasons_are_those_on_record() -> None:
    assert recorded() == Path(__file__).with_name("variants.txt").read_text(encoding="utf-8")


def test_a_model_gets_no_colour_of_the_ordinary_adult_of_an_albino_and_its_source_is_cited() -> None:
    writer = Model('{"sentences": []}')
    found = kb.context(STORE, "albino American robin", ENCODER, ContextSources(chat=writer))
    assert found == kb.context(STORE, "albino American robin", ENCODER)
    assert found.sources == (SPECIES[0].source,) and "orange" not in writer.asked[0]


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
