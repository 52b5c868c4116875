"""Features of the tower without the metric of birds."""

import numpy as np

import recognize
from data.contracts import TrainedOnPhotos, TrainedOnSpecies
from recognize.general.features import N_TRUNKS, signs, summed
from training.creatures.butterflies import BUTTERFLIES


def test_each_network_of_the_tower_counts_the_same() -> None:
    rng = np.random.default_rng(0)
    features = rng.uniform(0, 1, (2, 12 * N_TRUNKS)).astype(np.float32)
    louder = features.copy()
    louder[:, :12] *= 9
    matrix = rng.choice([-1.0, 1.0], (12 * N_TRUNKS, 8)).astype(np.float32)
    np.testing.assert_allclose(summed(features, matrix), summed(louder, matrix), atol=1e-6)


def test_the_signs_stay_the_same_since_stored_vectors_depend_on_them() -> None:
    found = signs(30)
    assert set(np.unique(found)) == {-1.0, 1.0}
    assert abs(float(found.mean())) < 0.03
    assert found[0, :12].tolist() == [1.0, -1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0]


def test_nothing_in_the_profile_was_trained_on_species() -> None:
    encoders = recognize.load_encoders("general")
    for encoder in (*encoders.text_image, encoders.visual):
        assert not isinstance(encoder, TrainedOnSpecies | TrainedOnPhotos)
    assert encoders.detector is None, "photos are compared whole"
    assert "starter-look" not in " ".join(encoders.spaces)
    assert "starter-pair" not in " ".join(encoders.spaces)


def test_butterflies_are_told_apart_by_three_reference_drawings() -> None:
    encoder = recognize.load_encoders("general").visual
    n_kinds, numbers = 4, range(4)
    vectors = encoder.encode_images([BUTTERFLIES[kind].draw(n) for kind in range(n_kinds) for n in numbers])
    by_kind = vectors.reshape(n_kinds, len(numbers), -1)
    centroids = by_kind[:, :3].mean(axis=1)
    best = np.einsum("kqd,cd->kqc", by_kind[:, 3:], centroids).argmax(axis=2)
    assert (best == np.arange(n_kinds)[:, None]).mean() >= 0.6, "by chance .25"
