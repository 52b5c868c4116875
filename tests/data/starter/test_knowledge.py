import re
from pathlib import Path

import numpy as np
import pytest

from data.errors import StoreError
from data.lexicon.words import group_of_noun
from data.records import Term
from data.starter.knowledge import StarterSpecies, read_species, read_terms, read_vectors
from training.knowledge.species import read_written

SPECIES = read_species()
BY_HAND = [species for species in SPECIES if species.by_hand]
WORDS = "black white grey brown buff chestnut rust rufous orange yellow green blue purple pink red cream olive"
PLAIN_COLOURS = frozenset(f"{WORDS} turquoise bronze silvery violet pinkish horn".split())
# A word of a sentence -> its colour.
DERIVED = {
    "whitish": "white", "reddish": "red", "brownish": "brown", "blackish": "black", "silvery": "grey",
    "pinkish": "pink", "violet": "purple",
}  # fmt: skip


def colours_in(text: str) -> set[str]:
    words = re.findall(r"[a-z]+", text.lower())
    return {DERIVED.get(word, word) for word in words if word in PLAIN_COLOURS or word in DERIVED}


def known_colours(species: StarterSpecies) -> set[str]:
    return {DERIVED.get(colour, colour) for colour in species.colours}


def test_species_and_terms_are_many_sorted_and_unique_as_the_documentation_says() -> None:
    assert len(SPECIES) >= 2500 and len(BY_HAND) >= 12 and len(read_terms()) >= 100
    for names in ([species.taxon.taxon_id for species in SPECIES], [term.name for term in read_terms()]):
        assert names == sorted(set(names))
    readme, tutorial = (Path(name).read_text(encoding="utf-8") for name in ("README.md", "docs/tutorials/birder.md"))
    assert f"{len(SPECIES):,} species that ship" in readme
    assert f"for {len(read_vectors().rows):,} what ships was computed from reference photos" in readme
    assert f"knowledge of {len(SPECIES):,} species" in tutorial


def test_every_colour_in_a_text_is_a_fact_and_every_fact_has_a_known_colour_shape_or_shade() -> None:
    """But for written texts, which say more than their facts."""
    written = read_written()
    for species in SPECIES:
        key = species.taxon.taxon_id
        assert key in written or colours_in(" ".join(species.text)) <= known_colours(species), key
        for fact in species.facts:
            assert fact.part
            assert fact.colours or fact.shape or fact.shade, species.taxon.taxon_id
            assert {word for colour in fact.colours for word in colour.split("-")} <= PLAIN_COLOURS
        parts = [(fact.part, fact.sex) for fact in species.facts]
        assert species.by_hand or len(parts) == len(set(parts)), species.taxon.taxon_id


def test_sentences_are_short_and_punctuated_and_do_not_name_the_species() -> None:
    """With the name in the summary, a model could match the name instead of the looks."""
    for species in SPECIES:
        text = " ".join(species.text).lower()
        for name in (species.taxon.scientific_name, *species.taxon.common_names):
            assert name.lower() not in text, species.taxon.taxon_id
        for sentence in species.text:
            assert sentence[0].isupper()
            assert re.search(r"[a-z]\.$|\d cm\.$", sentence)
            assert len(sentence.split()) <= 45


def test_terms_are_defined_and_a_name_belongs_to_terms_of_different_groups_alone() -> None:
    named: dict[str, list[Term]] = {}
    for term in read_terms():
        assert term.definition.endswith(".") and term.look_for.endswith(".") and term.source is not None, term.name
        assert {group for group in term.groups if group_of_noun(group) is None} == set()
        for name in (term.name, *term.aliases):
            named.setdefault(name.lower(), []).append(term)
    for name, terms in named.items():
        groups = [group for term in terms for group in term.groups or ("any",)]  # one may be of any other group
        assert len(groups) == len(set(groups)), name


def write(path: Path, **changes: object) -> Path:
    arrays: dict[str, object] = {
        "spaces": np.array(["a/1", "b/1"]),
        "taxon_ids": np.array(["pica-pica", "pica-pica", "bubo-scandiacus"]),
        "anchor_ids": np.array(["p1", "p2", "b1"]),
        "vectors_0": np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float16),
        "vectors_1": np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1]], dtype=np.float32),
    }
    np.savez(path, **(arrays | changes))  # type: ignore[arg-type]
    return path


def test_an_anchor_has_normalised_vectors_but_no_picture(tmp_path: Path) -> None:
    anchors = read_vectors(write(tmp_path / "v.npz"))
    assert [len(anchors.of(key)) for key in ("pica-pica", "bubo-scandiacus", "tyto-alba")] == [2, 1, 0]
    owl, magpie = anchors.of("bubo-scandiacus")[0], anchors.of("pica-pica")[1]
    assert owl.vectors == {"a/1": pytest.approx((0.6, 0.8), abs=1e-3), "b/1": (0.0, 0.0, 1.0)}
    assert np.linalg.norm(owl.vectors["a/1"]) == pytest.approx(1, abs=1e-6)
    assert magpie.vectors == {"a/1": (0.0, 1.0)}, "a row of zeros means no vector"
    assert (owl.content, owl.anchor.anchor_id, owl.anchor.sha256, owl.anchor.credit) == (None, "b1", None, None)


def test_texts_can_be_shipped_as_vectors(tmp_path: Path) -> None:
    texts = {
        "text_spaces": np.array(["a/1"]),
        "text_taxon_ids": np.array(["pica-pica", "tyto-alba"]),
        "text_vectors_0": np.array([[0, 1], [0, 0]], dtype=np.float16),
    }
    vectors = read_vectors(write(tmp_path / "v.npz", **texts))
    found = vectors.text_vector("pica-pica", "a/1")
    assert found is not None
    assert found.tolist() == [0.0, 1.0]
    for taxon_id, space in (("tyto-alba", "a/1"), ("pica-pica", "b/1"), ("bubo-scandiacus", "a/1")):
        assert vectors.text_vector(taxon_id, space) is None
    assert read_vectors(write(tmp_path / "w.npz")).text_vector("pica-pica", "a/1") is None


def test_missing_and_damaged_files_are_errors(tmp_path: Path) -> None:
    objects = np.array([{}, {}, {}], dtype=object)
    for path, why in (
        (tmp_path / "v.npz", r"v\.npz"),
        (write(tmp_path / "w.npz", anchor_ids=np.array(["p1"])), "as many rows"),
        (write(tmp_path / "x.npz", taxon_ids=objects), "not a file of vectors"),
    ):
        with pytest.raises(StoreError, match=why):
            read_vectors(path)
