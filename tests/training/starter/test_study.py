"""The study: the model for each query, and no leaks between fitting and measuring."""

from __future__ import annotations

import numpy as np
import pytest

from recognize.scoring.fusion import FusionWeights
from recognize.scoring.stages import Ranking
from tests.training.starter.world import NAMES, features_of, study_of
from training.starter.protocol import N_FOLDS, StudyCollection
from training.starter.study import ABSENT, ROWS, Model, Study, ranks_of, without_prototypes

EVEN = [FusionWeights(text=1, visual=1, new_species=0, prototype=1, trained_text=1, trained_visual=1)] * N_FOLDS


def test_every_fold_has_queries_and_some_photos_are_hidden(study: Study) -> None:
    """Otherwise the tests below would be empty."""
    assert all(len(study.fold_queries(fold)) for fold in range(N_FOLDS))
    assert 0 < len(study.hidden) < len(study.collection.queries)


def test_a_copy_of_an_anchor_is_not_a_query(study: Study) -> None:
    copy = next(i for i, photo in enumerate(study.collection.photos) if photo.path == "photos/00-6.png")
    assert copy in study.collection.left_over
    assert copy not in study.queries_of("unseen")
    assert copy not in study.queries_of("seen")


def test_each_unseen_query_uses_a_model_without_its_species(study: Study) -> None:
    parts = [study.fold_queries(fold) for fold in range(N_FOLDS)]
    assert sorted(np.concatenate(parts)) == sorted(study.queries_of("unseen"))
    for fold, photos in enumerate(parts):
        known = set(study.folds[fold].heads.species)
        assert not known & {NAMES[i] for i in study.collection.labels[photos]}


def test_hidden_photos_are_not_used_for_fitting(study: Study) -> None:
    assert len(study.held)
    assert not set(study.held) & set(study.collection.hidden)


@pytest.mark.parametrize(("mode", "n"), [("three", 3), ("wiki", 1)])
def test_knowledge_is_limited_to_the_given_species(study: Study, mode: str, n: int) -> None:
    vocabulary = np.array([1, 4, 5])
    model = study.folds[0]
    knowledge = model.knowledge(mode, vocabulary)
    assert knowledge.anchors.owners.tolist() == [owner for owner in range(3) for _ in range(n)]
    species = {study.collection.photos[int(path[7:9]) * 7].species for path in knowledge.anchors.ids}
    assert species == {NAMES[i] for i in vocabulary}
    np.testing.assert_array_equal(knowledge.chunks[0].vectors, model.texts[vocabulary])
    known = [i for i, name in enumerate(vocabulary) if NAMES[name] in model.heads.species]
    assert knowledge.trained.tolist() == known
    assert knowledge.prototypes.argmax(axis=1).tolist() == vocabulary[known].tolist()


def test_photos_set_aside_are_neither_anchors_nor_queries(wide: Study) -> None:
    collection = wide.collection
    aside = set(collection.all_aside)
    assert aside & set(collection.anchors("three"))
    assert aside & set(collection.left_over)
    knowledge = wide.seen.knowledge("three", wide.everything)
    paths = {collection.photos[i].path for i in aside}
    assert not paths & set(knowledge.anchors.ids)
    assert not aside & set(collection.queries)
    assert [collection.photos[i].path for i in collection.anchors("three") if i not in aside] == [
        *knowledge.anchors.ids
    ]


def test_a_photo_is_the_mean_direction_of_its_views(study: Study) -> None:
    """In both spaces; each view counts the same, however long its features."""
    model, n = study.seen, len(NAMES)
    whole, crop = np.eye(n, dtype=np.float32), np.roll(np.eye(n, dtype=np.float32), 1, axis=1)
    found = Model(model.collection, model.heads, np.stack([5 * whole, crop]))
    expected = (whole + crop) / np.sqrt(2)
    assert found.looks == pytest.approx(expected, abs=1e-6)
    assert found.photos == pytest.approx(expected, abs=1e-6)


def test_without_prototypes_removes_trained_species(study: Study) -> None:
    blind = without_prototypes(study.seen.knowledge("three", study.everything))
    assert (len(blind.trained), blind.prototypes.shape) == (0, (0, len(NAMES)))


def test_ranks_start_at_one() -> None:
    def ranking(*species: int) -> Ranking:
        order = np.array(species, dtype=np.intp)
        return Ranking(species=order, scores=-order.astype(float), stages={})

    assert ranks_of([ranking(3, 1), ranking(1, 3), ranking(2)], np.array([3, 3, 3])).tolist() == [1, 2, ABSENT]


@pytest.mark.parametrize("setting", ["seen", "unseen"])
@pytest.mark.parametrize("bounded", [False, True])
def test_anchors_identify_photos_near_them(study: Study, setting: str, bounded: bool) -> None:
    ranks = study.ranks(setting, "three", "anchors only (best)", EVEN, bounded=bounded)
    assert (ranks == 1).mean() > 0.95
    assert len(ranks) == len(study.queries_of(setting))


def test_the_model_of_a_fold_has_no_prototypes_of_its_species(noisy: Study) -> None:
    """On noisy photos prototypes help: the model with all species is right more often."""
    photos = noisy.hidden
    seen = noisy.ranks("seen", "wiki", "default", EVEN, bounded=False)
    unseen = noisy.ranks("unseen", "wiki", "default", EVEN, bounded=False)[np.isin(noisy.queries_of("unseen"), photos)]
    assert (seen == 1).mean() > (unseen == 1).mean()


@pytest.mark.parametrize("row", ROWS)
def test_every_method_ranks_every_photo(study: Study, row: str) -> None:
    ranks = study.ranks("seen", "three", row, EVEN, bounded=False)
    assert ranks.min() >= 1
    assert np.median(ranks) <= 3


def disturbed(collection: StudyCollection, photos: np.ndarray) -> Study:
    """Return the noisy study with changed features for some photos."""
    features = features_of(collection, noise=0.3)
    features[photos] = np.roll(features[photos], 3, axis=1)
    return study_of(collection, features)


def test_weights_of_a_fold_are_fitted_without_its_species(noisy: Study) -> None:
    changed = disturbed(noisy.collection, noisy.fold_queries(0)).nested_weights("three")
    weights = noisy.nested_weights("three")
    assert changed[0] == weights[0]
    assert changed[1] != weights[1]


def test_mixed_ranks_have_new_species_once_and_known_ones_per_fold(study: Study) -> None:
    (new, _), (known, ranks) = study.mixed_ranks("three", blind=False)
    assert sorted(new) == sorted(study.queries_of("unseen"))
    assert sorted(known) == sorted(np.repeat(study.held, N_FOLDS - 1))
    assert len(ranks) == len(known)
