import numpy as np
from PIL import Image, ImageDraw

import recognize
from data.contracts import TrainedOnPhotos, TrainedOnSpecies
from recognize.general import BASIC, N_TRUNKS, ColourWords, signs, summed
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


ENCODER = ColourWords()
INKS = {"red": (205, 30, 35), "yellow": (245, 215, 50), "blue": (50, 100, 200), "green": (60, 140, 60)}


def test_a_photo_of_a_colour_is_nearest_to_its_word_and_the_background_counts_less() -> None:
    words = ENCODER.encode_texts([f"The wings are {name}." for name in INKS])
    for colour, background in ((colour, ground) for colour in INKS for ground in ("white", INKS["green"])):
        picture = Image.new("RGB", (120, 90), background)
        ImageDraw.Draw(picture).ellipse((35, 20, 85, 70), fill=INKS[colour])
        assert list(INKS)[int((words @ ENCODER.encode_images([picture])[0]).argmax())] == colour, background


def test_a_text_without_a_colour_has_no_vector_and_shades_are_colours() -> None:
    vectors = ENCODER.encode_texts(["Two tails and long antennae.", "Chestnut wings.", "Brown wings."])
    assert not vectors[0].any()
    np.testing.assert_array_equal(vectors[1], vectors[2])
    np.testing.assert_allclose(np.linalg.norm(vectors[1]), 1, atol=1e-6)
    assert ENCODER.visible_words("Chestnut wings with a long tail") == ("chestnut",)


def test_a_blank_picture_has_its_colour_and_no_picture_no_vector() -> None:
    assert ENCODER.encode_images([]).shape == (0, len(BASIC))
    blank = ENCODER.encode_images([Image.new("RGB", (50, 50), INKS["blue"])])[0]
    assert BASIC[int(blank.argmax())] == "blue"
