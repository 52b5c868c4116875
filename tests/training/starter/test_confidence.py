import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from data.contracts import VectorTable
from data.records import Taxon
from recognize.scoring.knowledge import Knowledge, Queries
from training.starter.confidence.calibrate import fit_logistic, fitting_photos
from training.starter.confidence.worlds import World, complete_runs
from training.starter.protocol import N_FOLDS
from training.starter.study import Study
from training.starter.world import world_of_fold


def test_photos_of_the_fit_and_of_the_figures_are_apart_and_the_shipped_model_saw_neither(wide: Study) -> None:
    collection = wide.collection
    hidden, aside = set(fitting_photos(collection)), set(collection.all_aside)
    assert len(hidden) > 200 and len(aside) > 20
    assert not hidden & aside
    assert not (hidden | set(collection.aside_known)) & set(collection.seen_training)
    for fold in range(N_FOLDS):
        fitting = world_of_fold(wide, fold)
        assert not (hidden | aside) & (set(fitting.photos) | set(fitting.anchors))


def test_a_part_of_the_knowledge_has_other_species_as_background_but_forgotten_ones_nowhere() -> None:
    eye = np.eye(4, dtype=np.float32)
    table = VectorTable(ids=("a", "b", "c", "d", "e"), owners=np.array([0, 1, 1, 2, 3]), vectors=eye[[0, 1, 1, 2, 3]])
    whole = Knowledge(
        n_species=4, names=("x",), chunks=(table,), anchors=table, images=(table,), trained=np.arange(4), prototypes=eye
    )
    queries = Queries(text_image=(eye[:2],), visual=eye[:2])
    taxa = [Taxon(taxon_id=name, scientific_name=name, rank="species") for name in "ABCD"]
    world = World(whole=whole, taxa=taxa, queries=queries, truth=np.array([0, 0]))
    part = world.knowledge(np.array([1, 3]), n_anchors=1, texts_of=np.array([3]), forgotten=np.array([0, 3]))
    assert (part.anchors.ids, part.anchors.owners.tolist(), part.chunks[0].ids) == (("b", "e"), [0, 1], ("e",))
    assert (part.trained.tolist(), part.background_names) == ([0], ("C",))
    assert part.prototypes.tolist() == eye[[1]].tolist() and part.background.tolist() == eye[[2]].tolist()


def test_a_complete_run_lacks_the_photographed_species_that_are_new_to_the_model() -> None:
    """D has a text alone, so it stays; B is new to the model, so its photos are of an unknown species."""
    eye = np.eye(4, dtype=np.float32)
    table = VectorTable(ids=("a", "b", "c"), owners=np.arange(3), vectors=eye[:3])
    texts = VectorTable(ids=("a", "b", "c", "d"), owners=np.arange(4), vectors=eye)
    known = np.array([0, 2])
    whole = Knowledge(
        n_species=4, names=("x",), chunks=(texts,), anchors=table, images=(table,), trained=known, prototypes=eye[known]
    )
    queries = Queries(text_image=(eye[:2],), visual=eye[:2])
    taxa = [Taxon(taxon_id=name, scientific_name=name, rank="species") for name in "ABCD"]
    world = World(whole=whole, taxa=taxa, queries=queries, truth=np.array([0, 1]), has_poor=False)
    (run,) = complete_runs(world, ["default"])["default"]
    assert (run.species.tolist(), run.is_held.tolist()) == ([0, 2, 3], [True, False])
    assert len(run.knowledge.background) == 0 and run.right[:, 0].tolist() == [True, False]


def test_a_logistic_fit_equals_scikit_learn_with_the_same_ridge() -> None:
    rng, n = np.random.default_rng(1), 2_000
    features = rng.normal(size=(n, 2)) * [3.0, 0.5] + [1.0, 4.0]
    truth = rng.random(n) < 1 / (1 + np.exp(3 - features @ [0.8, 0.6]))
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    other = LogisticRegression(C=1 / (1e-3 * n), tol=1e-10).fit((features - mean) / deviation, truth)
    rows = np.column_stack([np.ones(n), features, np.full(n, 7.0)])
    found = fit_logistic(rows, truth, np.full(n, 1 / n))
    assert found[1:3] * deviation == pytest.approx(other.coef_[0], abs=1e-4)
    assert found[3] == 0, "a constant feature gets no weight"
    separable = fit_logistic(rows, rows[:, 1] > 1, np.full(n, 1 / n))
    assert np.isfinite(separable).all(), "the ridge gives a finite maximum"
