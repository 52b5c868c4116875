import random
import time
from dataclasses import replace
from pathlib import Path

from data.codec import dumps
from data.files import sha256_hex
from data.lexicon.words import group_of, groups
from data.records import Article, Source, Taxon
from kb.distill.extractive import MAX_WORDS, ExtractiveDistiller
from kb.distill.prompts import numbered_article
from kb.distill.sentences import split_sentences
from kb.distill.subjects import NameHider, is_about_another
from kb.distill.visual import drop_brackets, off_topic_clauses, trim_clauses, visual_score
from tests.kb.distill.pages import page

WREN = Taxon(
    taxon_id="wrena-rubra", scientific_name="Wrena rubra", rank="species",
    common_names=("Red-capped Wren", "Grey's Wren", "Śliczny Wróbel"), lineage={"class": "Aves"},
)  # fmt: skip
TITLE = "Red-capped wren"
LEAD = ("", "The red-capped wren (Wrena rubra) is a species of bird found in Brazil. It was named by Grey in 1840.")
DIGESTS = {
    "Aves": "46fe96f7202b6bb8", "Lepidoptera": "b31828b58faa4bea", "Amphibia": "c46f9d8db73b0ca4",
    "Plantae": "e2c5aac83cf0e047", "Fungi": "a0e260ee207abfce",
}  # fmt: skip
TRIMMED = {
    "It has a red head with a call like a rusty hinge.": "It has a red head.",
    "It has a red head, a black tail, and a harsh call.": "It has a red head and a black tail.",
    "It is a small grey bird that breeds in northern Asia.": "It is a small grey bird.",
    "The song is a trill; the bill is black.": "The bill is black.",
    "However, the bill is black.": "The bill is black.",
    "The bill is black, but the legs are red.": "The bill is black, but the legs are red.",
    "It has a red crown, and it feeds on insects, and a long tail.": "It has a red crown, and a long tail.",
    "It is white between March and May in northern Asia.": "It is white between March and May in northern Asia.",
    "The race with a yellow bill is found in Chile.": "The race with a yellow bill is found in Chile.",
    "The bird with red wings is widely distributed in Asia.": "The bird with red wings is widely distributed in Asia.",
    "": "",
}  # fmt: skip
HIDDEN = {
    "The red-capped wren has a red crown.": "It has a red crown.",
    "Red-capped wrens have red crowns.": "They have red crowns.",
    "The Red capped Wren's crown is red.": "Its crown is red.",
    "Red-capped wren are stylish birds.": "They are stylish birds.",
    "Red-capped wren have red crowns.": "They have red crowns.",
    "The red-capped wren, or Gray's wren, is a small bird.": "It is a small bird.",
    "The male red-capped wren has a red crown.": "The male has a red crown.",
    "Male red-capped wrens are red.": "Males are red.",
    "Young red-capped wrens are brown.": "Young birds are brown.",
    "It is larger than the red-capped wren of Peru.": "It is larger than this species of Peru.",
    "It is larger than other red-capped wrens.": "It is larger than other birds of this species.",
    "The red-capped wren bird is red.": "It is red.",
    "The red-capped wren crown is red.": "Its crown is red.",
    "The tail of W. rubra is long.": "The tail of this species is long.",
    "The wren has a red crown.": "It has a red crown.",
    "The white-capped wren is paler.": "The white-capped wren is paler.",
    "The red-capped wren (Wrena rubra) is red.": "This species is red.",
    "Another name of the Wrena rubra (red-capped wren) is red.": "Another name of this species is red.",
    "Its race (or red-capped wren) is red.": "Its race is red.",
    "The śliczny wróbel is like WRENA RUBRA.": "It is like this species.",
    "the crown is black with dark streaks.": "The crown is black with dark streaks.",
}


# Ends of made-up sentences.
ENDS = (
    ".", ".", ", and it lives in woods.", " (in the female), 20 cm long.", "; the song is a trill.",
    ". It has long legs and a call like a bell.", ". They are larger than Grey's wrens.", ", up to 2 m tall.",
)  # fmt: skip


VOICE = ("Voice", "Its song has a grey, barred note of birds with a red crown.")
BY_LOOKS = "It has a red crown, a black bill and long yellow legs."
WHITE = "It is 12 cm long and has a white belly."
SEXES = ("The male has a scarlet crown and throat.", "The female has a brown crown and bill.")
# Contents -> sections of a page; the record has the statements of its summary, each with its evidence.
PAGES: dict[str, tuple[tuple[str, str], ...]] = {
    "only visual sentences": (LEAD, ("Description",
        "The red-capped wren has a scarlet crown and a black bill. It weighs 20 g. The song is a loud trill. "
        "It is found in wet forests of Peru and Brazil. Its nest is a cup of moss. It feeds on insects and seeds. "
        "Adult wrens [3] have a blue-grey cap (7 in). The red-capped wren's bill is black.")),
    "sections on looks, never on sound": (LEAD, VOICE, ("Description", "It has a red crown."),
        ("=Juvenile", "The juvenile has a brown crown and a yellow gape."),
        ("=Voice", "The call of birds with a red crown and black bill is a harsh note."),
        ("Distribution", "Birds with a white crown and a black tail live in Peru.")),
    "the lead before the looks": (
        ("", "The red-capped wren is a small brown bird with a cocked tail, native to Peru."),
        ("Appearance", "The crown is red and the bill is black.")),
    "looks elsewhere": (LEAD, VOICE, ("Ecology", f"It nests in trees. {BY_LOOKS}")),
    "looks elsewhere than in their section": (LEAD, ("Description", "Little is known."), ("Ecology", BY_LOOKS)),
    "facts": (("", "A wren with a blue tail."), ("Voice", "A red note."), ("Description",
        "The male is red with a black bib; he may raise his crest. The legs are grey. Length 17 to 20 cm.")),
    "a lead of facts": (("", "A wren with a blue tail."), ("Voice", "A red note.")),
    "features with their sex": (LEAD, ("Description",
        "Males have a red crown, a black bib and white wing bars. Females are found in the south. "
        "They have a brown crown with dark streaks and a buff throat.")),
    "no feature of the female for all": (LEAD, ("Description",
        "Males have a red crown and a black bib. The female lives in the north. The crown is plain brown.")),
    "species, sexes, juveniles": (LEAD, ("Description",
        "\n".join(["The juvenile has a buff, spotted breast.", *SEXES[::-1], WHITE, WHITE]))),
    "no looks": (LEAD,), "no text": (("", ""),),
}  # fmt: skip


def recorded() -> str:
    lines = []
    for name, parts in PAGES.items():
        article = page(*parts, title=TITLE, url=None if "facts" in name else "https://wiki.example/Wren")
        made = ExtractiveDistiller().distil(article, WREN)
        lines.append(f"== {name}: {f'{made.scope}, {made.stage}, {made.distiller}' if made else 'no summary'}")
        for statement in made.statements if made else ():
            quotes = [article.text[span.start : span.end] for span in statement.evidence]
            lines.append(f"{statement.text} <- {' | '.join(quotes)}")
    return "\n".join(lines) + "\n"


def test_summaries_of_pages_of_every_kind_are_those_on_record() -> None:
    """Visual sentences with their evidence, by section, sex and age; bare facts of starter texts are not rewritten."""
    assert recorded() == Path(__file__).with_name("summaries.txt").read_text(encoding="utf-8")
    assert ExtractiveDistiller.name == "extractive/4"
    assert ExtractiveDistiller().distil(Article(source=Source(title="x", url="u"), text=""), WREN) is None


def test_clauses_and_brackets_are_trimmed_if_grammar_allows_and_names_become_pronouns() -> None:
    assert {sentence: trim_clauses(sentence) for sentence in TRIMMED} == TRIMMED
    assert off_topic_clauses("It has a red head, and feeds on seeds in the forest.") == ["feeds on seeds in the forest"]
    assert drop_brackets("It is 20 cm (7.9 in) long [1] , with a red (in the male) bill.") == (
        "It is 20 cm long, with a red (in the male) bill."
    )
    hider = NameHider(WREN, "Red-capped wren")
    assert {sentence: hider.hide(sentence) for sentence in HIDDEN} == HIDDEN
    assert hider.names_in("Red-capped wrens, Grey’s wren, and wrens.") == ["Red-capped wrens", "Grey’s wren"]


def many_marks(n: int, seed: int) -> str:
    """Return a description of `n` different sentences."""
    choose = random.Random(seed).choice
    parts, colours = sorted(groups()["part"]), sorted(groups()["colour"])
    return " ".join(
        f"{choose(('The', 'The male has a small head and its', 'Juveniles are duller and the'))} {choose(parts)} is "
        f"{choose(colours)} with a {choose(colours)} {choose(parts)} and {choose(colours)} {choose(parts)}"
        f"{choose(ENDS)}"
        for _ in range(n)
    )


def test_summaries_are_those_of_before() -> None:
    """Every letter counts: stored summaries, digests and paid replies are found again by them.

    A change on purpose raises the version in the distiller's name, and with it these digests.
    """
    lineages = {
        "Aves": {"class": "Aves"}, "Lepidoptera": {"order": "Lepidoptera"}, "Amphibia": {"class": "Amphibia"},
        "Plantae": {"kingdom": "Plantae"}, "Fungi": {"kingdom": "Fungi"},
    }  # fmt: skip
    found = {}
    for name, lineage in lineages.items():
        pages = [page(LEAD, ("Description", many_marks(60, seed)), ("=Larva", many_marks(9, seed)), title=TITLE)
                 for seed in range(5)]  # fmt: skip
        made = [ExtractiveDistiller().distil(article, replace(WREN, lineage=lineage)) for article in pages]
        assert all(summary and 60 <= summary.words <= MAX_WORDS for summary in made), name
        found[name] = sha256_hex("\n".join(dumps(summary) for summary in made if summary))[:16]
    assert found == DIGESTS


def test_distilling_time_is_linear_in_article_length() -> None:
    """Hostile texts take about 1 s in all; anything quadratic takes minutes."""
    pieces = ("(", "a, and ", "red wren ", "It is. ", "the red-capped wren or ", " ", "; ")
    begin = time.process_time()
    for piece in pieces:
        article = page(("Description", "It has a red crown. " + piece * (20_000 // len(piece))))
        ExtractiveDistiller().distil(article, WREN)
    for piece in (".", ". ", "\n ", "(()", "a.'", "a.[1", "(a. B) ", "It is c. 20 cm. (long. M. a. "):
        split_sentences(piece * (100_000 // len(piece)))
    assert len(numbered_article(page(*[("Habitat", "a")] * 20_000))) == 20_000
    assert time.process_time() - begin < 20


def test_scores_of_sentences_of_birds_and_of_butterflies_in_a_section_on_looks() -> None:
    """Digests of knowledge bases depend on them."""
    scores = {
        "The forewing is orange with a black margin.": (2.12, 4.62),
        "It is 20 cm long and reaches 2 m.": (2.08, 2.58),
        "In 1872 Smith saw a small red bird in Zorbland, told from others by its call.": (1.05, 0.55),
        "It breeds in northern Asia and winters in India.": (-3.24, -2.74),
        "The eggs are white with brown spots.": (-0.22, 0.28),
        "The egg is 12 mm long.": (-1.0, -0.5),
        "Its call is a harsh, loud note.": (-4.02, -3.52),
        "The genus name is from Latin.": (-4.01, -3.51),
        "": (-1.2, -0.7),
    }
    for text, found in scores.items():
        of_butterflies = visual_score(text, group="lepidoptera", in_section_on_looks=True)
        assert (round(visual_score(text), 3), round(of_butterflies, 3)) == found, text
    assert visual_score("The sexes are alike.", in_section_on_looks=True) > 0


def test_words_and_pairs_of_looks_are_recognised() -> None:
    others = {"The bill of the closely related species is black.": True, "The bill of the species is black.": False,
              "The grey francolin has a buff throat.": True, "The outer tail is black.": False}  # fmt: skip
    assert {sentence: is_about_another(sentence) for sentence in others} == others
    assert {group_of(word) for word in ("greyer", "whitish", "redder", "yellower", "blue")} == {"colour"}
    assert group_of("antennae") == group_of("wings") == group_of("flower") == "part"
    assert group_of("number") is None
