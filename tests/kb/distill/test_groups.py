import asyncio
import json
from dataclasses import replace
from pathlib import Path

from data.lexicon.words import group_names, groups
from data.records import Article, SpeciesEntry, Summary, Taxon
from kb.curate.lint import lint_entry
from kb.distill.claims import mixed_up, unsupported
from kb.distill.distillers import make_distiller, name_for
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.model import Mode, ModelDistiller
from kb.distill.prompts import DistilPrompts
from kb.distill.sentences import SectionKind, sections_of
from kb.distill.subjects import is_about_another, stated_subject
from tests.kb.distill.pages import page
from tests.kb.distill.test_model import Scripted
from training.distill.groups import measure, own_sentences


def taxon(scientific_name: str, *names: str, **lineage: str) -> Taxon:
    return Taxon(taxon_id="a-b", scientific_name=scientific_name, rank="species", common_names=names, lineage=lineage)


BIRD = taxon("Wrena rubra", **{"class": "Aves"})
BUTTERFLY = taxon("Aglais urticae", "Small Tortoiseshell", **{"class": "Insecta", "order": "Lepidoptera"})
MUSHROOM = taxon("Amanita muscaria", order="Agaricales")
PLANT = taxon("Digitalis purpurea", order="Lamiales")
FROG = taxon("Rana temporaria", "Common Frog", **{"class": "Amphibia"})
FISH = taxon("Aus bus", **{"class": "Actinopterygii"})
# Taxon, text, statements of its summary: each a text where an earlier version failed.
SUMMARIES: tuple[tuple[Taxon, str, list[str]], ...] = (
    (BUTTERFLY, "The caterpillar is green with a white line. Its head is brown. The wings are blue with a dark border.",
     ["The wings are blue with a dark border.", "The caterpillar is green with a white line.",
      "Its head is brown."]),
    # only a pronoun goes on with the sex of the sentence before
    (BUTTERFLY, "The male has a grey wing tip. The female has two black spots on each forewing. The underside of the "
     "hindwing is pale yellow. The caterpillar is green with a thin yellow line on the back.",
     ["The underside of the hindwing is pale yellow.", "The male has a grey wing tip.",
      "The female has two black spots on each forewing.",
      "The caterpillar is green with a thin yellow line on the back."]),
    (PLANT, "The flowers are purple with white spots. They are 4 cm long. It is a shrub with red, hairy stems.",
     ["It is a shrub with red, hairy stems.", "The flowers are purple with white spots.", "They are 4 cm long."]),
    (MUSHROOM, "The cap is red. The spore print is white. The flesh turns blue when bruised. The stem breaks like "
     "chalk. The spores are amyloid.",
     ["The cap is red.", "The spore print is white.", "The flesh turns blue when bruised.",
      "The stem breaks like chalk."]),
    (FISH, "It reaches 1 m. It reaches depths of 200 m.", ["It reaches 1 m."]),
    (taxon("Aus bus", "Orchid", order="Asparagales"), "An orchid with sepals of pink.",
     ["A plant with sepals of pink."]),
    (FROG, "It has a brown back. The cane toad has a yellow belly with black spots. It has red legs.",
     ["It has a brown back."]),
    (PLANT, "The fronds are 60 to 160 cm tall and 30–40 cm broad, pinnate, with 7 to 9 pairs of green leaflets.",
     ["The fronds are 60 to 160 cm tall and 30–40 cm broad, pinnate, with 7 to 9 pairs of green leaflets."]),
    (FROG, "Common Frogs occur in green and brown colours with black bands on the legs.",
     ["These animals occur in green and brown colours with black bands on the legs."]),
    # food, use, courtship, growth, cultivars and names alone are no looks
    (FISH, "It eats green frogs and small red fish.", []),
    (MUSHROOM, "The cap grows 5 mm a year, red and flat.", []),
    (FROG, "The common frog is boiled until its skin is bright red.", []),
    (PLANT, "The cultivar 'Alba' has white flowers and green bracts.", []),
    (BIRD, "White-throated Wren, Wrena albigularis", []),
)  # fmt: skip
HEADINGS = {
    "Description": SectionKind.LOOKS, "Songs of the male": SectionKind.NEVER,
    "Behaviour": SectionKind.OTHER, "Subspecies": SectionKind.NEUTRAL,
    "References": SectionKind.NEVER, "Imago": SectionKind.LOOKS,
    "Larva": SectionKind.NEUTRAL, "Larval food plants": SectionKind.OTHER,
    "Basidiocarp": SectionKind.LOOKS, "Spores": SectionKind.OTHER,
    "Flowers": SectionKind.NEUTRAL, "Toxicity": SectionKind.OTHER,
}  # fmt: skip
SUBJECTS = {
    ("The caterpillar is green.", "lepidoptera"): "larva", ("It feeds mainly on caterpillars.", "mammalia"): None,
    ("Young larvae are yellow.", "lepidoptera"): "larva", ("Larval food plants include oak.", "lepidoptera"): None,
    ("It is larger than the larva.", "insects"): None, ("The pupa hangs from a twig.", "lepidoptera"): "pupa",
    ("The tip is grey; the female has two black spots.", "lepidoptera"): None,
    ("The tip is grey; the female has two black spots.", "birds"): None, ("Petals white.", "plants"): "flower",
    ("It has white petals.", "plants"): None, ("The bark is grey.", "plants"): "",
    ("The larvae are eaten.", "birds"): "juvenile",
}  # fmt: skip
CLAIMS = {
    ("lepidoptera", "The forewing has a purple band.", "The hindwing has a white band."): {"forewing", "purple"},
    ("amphibia", "The dorsum is green.", "The belly is green."): {"dorsum"},
    ("fungi", "The gills are pink.", "The cap is pink."): {"gills"},
    ("plants", "The sepals are 3 mm long.", "The petals are long."): {"sepals", "3"},
}
# Taxon, its article, a word of the summary, and a wrong one that lint finds.
WRONG = (
    (BUTTERFLY, "The forewing is orange with a black border.", "is orange", "is purple"),
    (FROG, "The dorsum is brown with a pale stripe and dark spots.", "is brown", "is green"),
    (PLANT, "The petals are white, the berries are red and 8 mm wide.", "are white", "are red"),
    (BUTTERFLY, "The caterpillar is green with thin white lines.", "The caterpillar is", "The adult is"),
    (BUTTERFLY, "The upperside is blue, the underside is brown.", "upperside is blue", "upperside is brown"),
)


def scripted(*statements: tuple[str, int]) -> Scripted:
    rows = [{"text": text, "sentences": [number]} for text, number in statements]
    return Scripted(json.dumps({"statements": rows}))


PAGE = page(
    ("Description", "The wings are reddish orange with black markings."),
    ("Underside", "The hindwing is dark brown with a pale outer half."),
    ("Larva", "It is black with two yellow lines along each side. It feeds on nettles."),
    ("Pupa", "The chrysalis is grey with golden spots."),
    title="Page",
)


def summary(taxon: Taxon, article: Article) -> Summary:
    made = ExtractiveDistiller().distil(article, taxon)
    assert made is not None
    return made


def looks_of(taxon: Taxon, text: str, title: str = "Description") -> list[str]:
    made = ExtractiveDistiller().distil(page((title, text), title="Page"), taxon)
    return [statement.text for statement in made.statements] if made else []


def errors(taxon: Taxon, made: Summary, article: Article) -> list[str]:
    entry = SpeciesEntry(taxon=taxon, summary=made, source=article.source)
    return [finding.rule for finding in lint_entry(entry, article.text) if finding.severity == "error"]


def test_summaries_of_texts_where_an_earlier_version_failed() -> None:
    for subject, text, statements in SUMMARIES:
        assert looks_of(subject, text) == statements
    assert looks_of(PLANT, "It has purple flowers with dark spots.", "Cultivation") == []


def test_stages_and_sides_are_kept_apart_and_the_adult_comes_first() -> None:
    made = summary(BUTTERFLY, PAGE)
    assert made.text == (
        "The wings are reddish orange with black markings. Underside: the hindwing is dark brown with a pale outer "
        "half. Larva: black with two yellow lines along each side. The chrysalis is grey with golden spots."
    )
    assert errors(BUTTERFLY, made, PAGE) == []
    young = "The young are yellow with red legs. The head has two dark lines. Later the body is green."
    head = ["Larva: the head has two dark lines.", "Larva: later the body is green."]
    assert looks_of(BUTTERFLY, young, "Larva") == ["The young are yellow with red legs.", *head]


def test_headings_subjects_and_claims_are_read_in_the_words_of_a_group() -> None:
    read = {title: sections_of(page((title, "It is red.")))[0][1] for title in HEADINGS}
    assert read == HEADINGS
    assert {(text, group): stated_subject(text, group) for text, group in SUBJECTS} == SUBJECTS
    assert {case: set(unsupported(case[1], [case[2]], case[0])) for case in CLAIMS} == CLAIMS
    assert mixed_up("The adult is green.", ["The larva is green."], "lepidoptera") == [("green", "", "larva")]
    assert mixed_up("White flowers.", ["The fruits are white."], "plants") == [("white", "flower", "fruit")]
    assert mixed_up("Brown above.", ["The underside is brown."], "lepidoptera") == [
        ("brown", "the upperside", "the underside")
    ]
    for group in set(group_names()) - {"all_animals"}:  # which no taxon has
        assert {"plain-subject", "verb", "dangling", "synonym"} <= groups(group).keys(), group
        assert not is_about_another("The whole species is red.", group), group


def test_lint_finds_what_the_evidence_does_not_say() -> None:
    for subject, text, said, instead in WRONG:
        told = page(("Description", text), title="Page")
        made = summary(subject, told)
        assert errors(subject, made, told) == []
        wrong = replace(made.statements[0], text=text.replace(said, instead))
        assert errors(subject, replace(made, statements=(wrong,)), told), instead


def test_a_longer_name_is_that_of_a_species_under_a_genus_and_its_own_elsewhere() -> None:
    slug = replace(taxon("Ariolimax", "Banana slug", **{"class": "Gastropoda"}), rank="genus")
    text = "The Pacific banana slug has a yellow body with black spots."
    assert looks_of(slug, text) == []
    assert looks_of(replace(slug, rank="species"), text) == ["It has a yellow body with black spots."]
    paler = "Its body is paler than that of the Pacific banana slug."
    assert looks_of(slug, paler) == [paler]


def test_precision_recall_and_stages_of_our_own_held_out_sentences() -> None:
    figures = measure(list(own_sentences()), "held-out")
    assert len(figures) == 9
    for row in figures:
        assert row.precision >= 0.9 and row.recall >= 0.8, row.group
        assert row.stage is not None and row.stage >= 0.85, row.group


def test_names_in_fingerprints_name_the_group_outside_birds() -> None:
    extractive, model = ExtractiveDistiller(), ModelDistiller(scripted())
    assert name_for(extractive, BIRD) == extractive.name == "extractive/4"
    assert name_for(extractive, BUTTERFLY) == "extractive/4 lepidoptera"
    assert name_for(extractive, None) == extractive.name  # pages of terms
    assert name_for(model, BIRD) == model.name == "model/1 scripted prompts 1e41c713d671"
    assert name_for(model, BUTTERFLY) not in (model.name, name_for(model, MUSHROOM))
    assert name_for(make_distiller("article"), BUTTERFLY) == "article/1"


def test_the_prompt_names_the_group_its_parts_and_what_to_keep_apart(tmp_path: Path) -> None:
    modes: dict[Mode, int] = {"model": 1, "model-two-pass": 2}
    for mode, n_passes in modes.items():
        chat = scripted(("The wings are reddish orange.", 1))
        asyncio.run(ModelDistiller(chat, mode=mode).distil_async(PAGE, BUTTERFLY))
        assert len(chat.asked) == n_passes
        for prompt in (request.messages[0].text for request in chat.asked):
            assert "forewings and hindwings" in prompt and "caterpillar" in prompt and "bill" not in prompt
    # A user's prompt for all replaces those by group.
    for file, prompt, sent in (
        ("distil.md", "Describe $scientific_name.", "Describe Aglais urticae."),
        ("distil_group.md", "Describe the $noun.", "Describe the insect."),
    ):
        (tmp_path / file).write_text(prompt)
        asyncio.run(ModelDistiller(chat, prompts=DistilPrompts(tmp_path)).distil_async(PAGE, BUTTERFLY))
        assert chat.asked[-1].messages[0].text == sent


def test_a_reply_that_mixes_up_stages_or_sides_is_dropped() -> None:
    for text, cited, is_kept in (
        ("The larva is black with yellow lines.", 3, True),
        ("It is black with yellow lines.", 3, False),  # the adult would get the colours of the larva
        ("The upperside of the hindwing is brown.", 2, False),
        ("The underside of the hindwing is dark brown.", 2, True),
    ):
        chat = scripted((text, cited), ("The wings are reddish orange.", 1))
        made = asyncio.run(ModelDistiller(chat).distil_async(PAGE, BUTTERFLY)).summary
        assert made is not None
        assert (text in [statement.text for statement in made.statements]) == is_kept, text
