import numpy as np

from tests.training.starter.world import NAMES, features_of, study_of
from training.starter.protocol import N_FOLDS
from training.starter.study import Study


def test_each_unseen_query_uses_a_model_without_its_species(study: Study) -> None:
    parts = [study.fold_queries(fold) for fold in range(N_FOLDS)]
    assert sorted(np.concatenate(parts)) == sorted(study.queries_of("unseen"))
    for fold, photos in enumerate(parts):
        known = set(study.folds[fold].heads.species)
        assert not known & {NAMES[i] for i in study.collection.labels[photos]}


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


def test_weights_of_a_fold_are_fitted_without_its_species(study: Study) -> None:
    features = features_of(study.collection, noise=0.3)
    noisy = study_of(study.collection, features.copy())
    photos = noisy.fold_queries(0)
    features[photos] = np.roll(features[photos], 3, axis=1)
    changed, weights = (each.nested_weights("three") for each in (study_of(study.collection, features), noisy))
    assert changed[0] == weights[0]
    assert changed[1] != weights[1]
