"""Random knowledge bases, and photos identified with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.arrays import IntArray
from recognize.confidence.evidence import FEATURES, N_JUDGED
from recognize.evaluation.collection import ANCHOR_SOURCES, Description, Photo
from recognize.scoring.stages import Ranking
from tests.training.starter.world import KnownHeads, PlainCollection
from training.starter.confidence import worlds
from training.starter.confidence.calibrate import world_of_fold
from training.starter.confidence.worlds import (
    FEWEST,
    MOST_PHOTOS,
    Run,
    World,
    draw_all_trained,
    draw_photos,
    draw_runs,
    draw_species,
    identify,
)
from training.starter.study import Model, Study

PRESETS = ("anchors-only", "default", "text-only")


@pytest.fixture(scope="module")
def world(wide: Study) -> World:
    return world_of_fold(wide, 0)


@pytest.fixture(scope="module")
def runs(world: World) -> dict[str, list[Run]]:
    return draw_runs(world, PRESETS, n=24, seed=3)


def named(world: World, species: IntArray) -> set[str]:
    return {world.names[i] for i in species}


def test_a_knowledge_base_holds_the_drawn_species_and_the_background_the_others(world: World) -> None:
    species = draw_species(world, np.random.default_rng(0), of=np.arange(len(world.names)))
    knowledge = world.knowledge(species, n_anchors=2, texts_of=species)
    heads = world.model.heads
    held, known = named(world, species), set(heads.species)
    assert knowledge.n_species == len(species)
    assert named(world, species[knowledge.trained]) == held & known != set()
    assert set(knowledge.background_names) == known - held != set()
    for names, rows in (
        ([world.names[i] for i in species[knowledge.trained]], knowledge.prototypes),
        (knowledge.background_names, knowledge.background),
    ):
        np.testing.assert_array_equal(rows, heads.prototypes[[heads.species.index(name) for name in names]])


def test_anchors_are_of_their_species_those_of_the_protocol_first(world: World) -> None:
    species = np.arange(0, len(world.names), 3)
    knowledge = world.knowledge(species, n_anchors=2, texts_of=species)
    photos = [int(photo) for photo in knowledge.anchors.ids]
    assert set(photos) <= set(world.anchors.tolist())
    np.testing.assert_array_equal(world.labels[photos], species[knowledge.anchors.owners])
    np.testing.assert_array_equal(knowledge.anchors.vectors, world.model.looks[photos])
    np.testing.assert_array_equal(knowledge.images[0].vectors, world.model.photos[photos])
    assert knowledge.anchor_counts.max() == 2
    firsts = [photos[np.flatnonzero(knowledge.anchors.owners == i)[0]] for i in np.flatnonzero(knowledge.anchor_counts)]
    free = {i for i in world.anchors.tolist() if world.model.collection.photos[i].source == ANCHOR_SOURCES[0]}
    lead_of = {int(world.labels[i]): i for i in free}
    assert [lead_of.get(int(world.labels[i]), i) for i in firsts] == firsts


def test_only_described_species_have_texts(world: World) -> None:
    collection, everything = world.model.collection, np.arange(len(world.names))
    knowledge = world.knowledge(everything, n_anchors=1, texts_of=everything[5:])
    owners = knowledge.chunks[0].owners
    assert named(world, owners) == set(collection.vocabulary) - set(world.names[:5])
    assert len(owners) < len(everything) - 5
    rows = [collection.vocabulary.index(world.names[i]) for i in owners]
    np.testing.assert_array_equal(knowledge.chunks[0].vectors, world.model.texts[rows])


def test_knowledge_bases_with_texts_are_of_described_species_but_for_those_of_all(runs: dict[str, list[Run]]) -> None:
    """Some lack their text; those without texts have anchors, and other species too."""
    shares, others = [], 0
    for run in runs["default"]:
        is_described = np.isin(run.species, run.world.described)
        if n_texts := len(run.knowledge.chunk_owners):
            assert is_described.all() or not len(run.knowledge.background)
            shares.append(n_texts / is_described.sum())
        else:
            assert len(run.knowledge.anchors.owners)
            others += int((~is_described).sum())
    assert 0.5 < np.mean(shares) < 0.85
    assert others > 0


def test_no_anchor_is_among_the_photos_to_identify(runs: dict[str, list[Run]]) -> None:
    used = 0
    for run in (run for some in runs.values() for run in some):
        photos, anchors = set(run.photos.tolist()), {int(photo) for photo in run.knowledge.anchors.ids}
        assert not photos & anchors
        assert photos <= set(run.world.photos.tolist())
        used += len(anchors & set(run.world.photos.tolist()))
    assert used  # otherwise they could not meet


def test_the_presets_identify_the_same_photos_where_they_can_run(runs: dict[str, list[Run]]) -> None:
    by_knowledge = {id(run.knowledge): run for run in runs["default"]}
    assert len(by_knowledge) == 24
    counts = {"anchors-only": 0, "text-only": 0}
    for run in by_knowledge.values():
        counts["anchors-only"] += len(run.knowledge.anchors.owners) > 0
        counts["text-only"] += len(run.knowledge.chunk_owners) > 0
    for preset, n in counts.items():
        assert 0 < len(runs[preset]) == n < 24
        for run in runs[preset]:
            np.testing.assert_array_equal(run.photos, by_knowledge[id(run.knowledge)].photos)


def test_photos_are_of_held_and_other_species_known_and_new(world: World) -> None:
    is_new = world.prototype_rows < 0
    species = np.sort(np.concatenate([np.flatnonzero(~is_new)[::2], np.flatnonzero(is_new)[::2]]))
    photos = draw_photos(world, species, world.photos[:50], np.random.default_rng(0))
    truth = world.labels[photos]
    counts = np.zeros((2, 2), dtype=int)
    np.add.at(counts, (np.isin(truth, species).astype(int), is_new[truth].astype(int)), 1)
    assert counts.min() > 5
    assert counts[:, 1].tolist() == [MOST_PHOTOS, MOST_PHOTOS]  # there are more of them
    assert not set(photos) & set(world.photos[:50])
    assert len(set(photos)) == len(photos)


def test_some_knowledge_bases_hold_all_species_of_the_model(world: World) -> None:
    everything = np.arange(len(world.names))
    known = np.flatnonzero(world.prototype_rows >= 0)
    sizes = set()
    for seed in range(8):
        species = draw_all_trained(world, np.random.default_rng(seed))
        assert set(known) <= set(species)
        sizes.add(len(species) - len(known))
    assert len(sizes) > 3
    assert max(sizes) < 0.6 * (len(everything) - len(known))


def test_species_of_a_region_are_of_few_families(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty species a family: n species fit in n / 15 families and the next, or in one fewer."""
    everything = np.arange(len(world.names))
    n_families: dict[float, list[int]] = {0.0: [], 1.0: []}
    for share, found in n_families.items():
        monkeypatch.setattr(worlds, "BY_FAMILY", share)
        for seed in range(12):
            species = draw_species(world, np.random.default_rng(seed), of=everything)
            assert (np.diff(species) > 0).all()
            assert FEWEST <= len(species) <= len(everything)
            assert np.isin(world.labels[world.photos], species).any()
            found.append(len({world.families[i] for i in species}))
            assert share == 0 or found[-1] <= len(species) / 15 + 1
    assert np.mean(n_families[0.0]) > np.mean(n_families[1.0]) + 2


def drawn(runs: dict[str, list[Run]]) -> list[Any]:
    return [
        (preset, run.species.tolist(), run.photos.tolist(), run.knowledge.anchors.ids, run.knowledge.chunks[0].ids)
        for preset, some in runs.items()
        for run in some
    ]


def test_the_same_seed_draws_the_same_runs(world: World, runs: dict[str, list[Run]]) -> None:
    again, other = (draw_runs(world, PRESETS, n=24, seed=seed) for seed in (3, 4))
    assert drawn(again) == drawn(runs) != drawn(other)


SPECIES = ("Cardellina pusilla", "Setophaga petechia", "Setophaga pinus", "Turdus merula", "Zonotrichia nowhere")
KNOWN = (0, 2)


@pytest.fixture(scope="module")
def hand() -> World:
    """Two photos of each of five species; the model knows the first and the third, the last is in no checklist."""
    photos = [Photo(path=f"{i}-{j}", species=name, source="x") for i, name in enumerate(SPECIES) for j in range(2)]
    descriptions = [Description(species=name, source="x", sentences=(str(i),)) for i, name in enumerate(SPECIES)]
    directions = np.eye(5, dtype=np.float32)
    heads: Any = KnownHeads(tuple(SPECIES[i] for i in KNOWN), directions[list(KNOWN)], directions)
    collection = PlainCollection(Path("nowhere"), tuple(photos), tuple(descriptions))
    features = np.repeat(directions, 2, axis=0)[None]
    return World(Model(collection, heads, features), photos=np.arange(0, 10, 2), anchors=np.arange(1, 10, 2))


def ranking(*species: int) -> Ranking:
    order = np.array(species, dtype=np.intp)
    return Ranking(species=order, scores=-np.arange(len(order), dtype=float), stages={})


def by_hand(world: World, species: list[int], photos: list[int], rankings: list[Ranking]) -> Run:
    held = np.array(species)
    knowledge = world.knowledge(held, n_anchors=1, texts_of=held)
    return Run(world=world, species=held, knowledge=knowledge, photos=np.array(photos), rankings=rankings)


def test_held_and_new_by_hand(hand: World) -> None:
    """Photos of species 0, 1, 2 and 4, with a knowledge base of species 1 and 2."""
    run = by_hand(hand, [1, 2], [0, 2, 4, 8], [ranking(0)] * 4)
    assert run.truth.tolist() == [0, 1, 2, 4]
    assert run.is_held.tolist() == [False, True, True, False]
    assert run.is_new.tolist() == [False, True, False, True]


def test_right_ranks_by_hand(hand: World) -> None:
    """Photos of Setophaga pinus, then one of a species without a family."""
    held = [0, 1, 2, 3, 4]
    firsts = [2, 1, 0, 3, 4]
    run = by_hand(hand, held, [4] * 5 + [8, 8], [*map(ranking, firsts), ranking(4), ranking(3)])
    assert run.right.tolist() == [
        [True, True, True, True],
        [False, True, True, True],  # another Setophaga
        [False, False, True, True],  # another wood-warbler
        [False, False, False, True],  # a thrush, of the same order
        [False, False, False, False],  # nothing is known of its family
        [True, True, True, True],
        [False, False, False, False],
    ]


def test_right_ranks_count_from_the_species_of_the_knowledge_base(hand: World) -> None:
    """Position 0 of a knowledge base of species 2 and 3 is species 2; an empty ranking is never right."""
    run = by_hand(hand, [2, 3], [4, 6, 4], [ranking(0, 1), ranking(0, 1), ranking()])
    assert run.right[:, 0].tolist() == [True, False, False]


def test_scores_of_held_photos_by_hand(hand: World) -> None:
    """Photos of species 3, 0 (not held) and 2; the last lacks its species among the best."""
    run = by_hand(hand, [1, 2, 3], [6, 0, 4], [ranking(0, 2, 1), ranking(0), ranking(0, 2)])
    assert [(scores.tolist(), at) for scores, at in run.scored()] == [([0.0, -1.0, -2.0], 1), ([0.0, -1.0], None)]


def test_photos_are_identified_by_their_vectors(hand: World) -> None:
    run = identify(hand, np.arange(5), hand.knowledge(np.arange(5), n_anchors=1, texts_of=np.arange(5)),
                   hand.photos, "default")  # fmt: skip
    assert run.mode == "single"
    assert run.right.all()
    assert all(len(each.species) <= N_JUDGED for each in run.rankings)
    assert run.evidence(1.0).shape == (5, len(FEATURES))
    without = replace(run, knowledge=hand.knowledge(np.arange(5), n_anchors=0, texts_of=np.arange(5)))
    assert without.mode == "none"


def test_evidence_of_species_outside_is_in_the_background(world: World, runs: dict[str, list[Run]]) -> None:
    """Photos of known species that are not held fit the background better than those of held ones."""
    at = FEATURES.index("background_margin")
    margins: dict[bool, list[float]] = {True: [], False: []}
    for run in runs["default"]:
        for held, new, row in zip(run.is_held, run.is_new, run.evidence(1.0), strict=True):
            if not new and row[FEATURES.index("has_background")]:
                margins[bool(held)].append(row[at])
    assert min(map(len, margins.values())) > 50
    assert np.mean(margins[False]) > np.mean(margins[True]) + 0.1
