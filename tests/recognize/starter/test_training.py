"""Training code and shipped code give the same vectors. Needs torch (the extra `models`), and onnx for the tower."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from data.arrays import as_unit_rows  # noqa: E402
from recognize.evaluation.protocol import Description  # noqa: E402
from recognize.starter.heads import read_heads, write_heads  # noqa: E402
from training.starter.backbone import Backbone  # noqa: E402
from training.starter.look import fit_discriminants, train_look  # noqa: E402
from training.starter.pair import PhotoHead, TextHead, arrays_of, read_corpus, train_pair  # noqa: E402

WORDS = ["bill", "black", "crown", "leg", "red", "tail", "white", "wing"]
DESCRIPTIONS = [
    Description(species="Aus aus", source="x", sentences=("The crown is red.", "Red bill; black tail.")),
    Description(species="Aus aus", source="y", sentences=("A white wing.",)),
    Description(species="Bus bus", source="x", sentences=("Black crown, red leg.", "Long words nobody knows.")),
]
VOCABULARY = ("Aus aus", "Bus bus")


@pytest.fixture(scope="module")
def corpus():
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(len(WORDS), 12)))
    return read_corpus(DESCRIPTIONS, VOCABULARY, WORDS, vectors)


@pytest.fixture(scope="module")
def features():
    """Two views of 24 photos, twelve of each species, around two different directions."""
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.normal(size=(2, 40)), 12, axis=0)
    return (centres + 0.5 * rng.normal(size=(2, 24, 40))).astype(np.float32)


LABELS = np.repeat([0, 1], 12)


def test_the_heads_in_numpy_give_what_the_trained_heads_give(tmp_path, corpus, features):
    """The file holds 16 bits a number, the word table 8: vectors differ by less than 1e-2."""
    torch.manual_seed(0)
    text_head, photo_head = TextHead(12).eval(), PhotoHead(8).eval()
    look_mean, look = as_unit_rows(features[0]).mean(axis=0), np.eye(40, 8, dtype=np.float32)
    rows = as_unit_rows((as_unit_rows(features[0]) - look_mean) @ look)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    arrays = arrays_of(text_head, photo_head, mean, deviation)
    arrays |= {"table": corpus.table, "pair_weights": corpus.pair_weights}
    arrays |= {"look_mean": look_mean, "look": look, "prototypes": as_unit_rows(np.ones((2, 8)))}
    write_heads(tmp_path / "heads.npz", arrays, WORDS, VOCABULARY)
    heads = read_heads(tmp_path / "heads.npz")
    texts = ["\n".join(s for d in DESCRIPTIONS if d.species == name for s in d.sentences) for name in VOCABULARY]
    with torch.inference_mode():
        words, pairs = corpus.vectors()
        by_torch = text_head(torch.from_numpy(words), torch.from_numpy(pairs)).numpy()
        photos_by_torch = photo_head(torch.from_numpy((rows - mean) / deviation)).numpy()
    assert heads.encode_words(texts) == pytest.approx(words, abs=1e-2)
    assert heads.encode_pairs(texts) == pytest.approx(pairs, abs=1e-3)
    assert heads.encode_texts(texts) == pytest.approx(by_torch, abs=1e-2)
    assert heads.encode_photos(features[0]) == pytest.approx(photos_by_torch, abs=1e-2)


def test_both_heads_learn_which_text_belongs_to_which_photo(corpus, features):
    before = train_pair(corpus, features, LABELS, np.arange(24), epochs=1)
    again = train_pair(corpus, features, LABELS, np.arange(24), epochs=1)
    assert all((before[name] == again[name]).all() for name in before), "the same seed gives the same numbers"


def test_prototypes_name_the_species_of_the_training_photos(features):
    look = train_look(features, ["Aus aus"] * 12 + ["Bus bus"] * 12, np.arange(24), dim=4, epochs=5)
    assert look.species == VOCABULARY
    assert (look.encode(features[0]) @ look.prototypes.T).argmax(axis=1).tolist() == LABELS.tolist()


def test_discriminants_bring_photos_of_a_species_together(features):
    mean, matrix = fit_discriminants(features, LABELS, 1)
    line = ((as_unit_rows(features[0]) - mean) @ matrix).ravel()
    within = max(line[:12].std(), line[12:].std())
    assert abs(line[:12].mean() - line[12:].mean()) > 4 * within


def test_the_tower_in_onnx_gives_what_the_trunk_gives(tmp_path):
    """In eval mode, with batch norms that are not the identity, to 1e-4."""
    pytest.importorskip("onnx")
    from recognize.starter.tower import Tower
    from training.starter.export import write_tower

    torch.manual_seed(0)
    trunk = Backbone("lite2").eval()
    for module in trunk.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 1.0, 2.0)
            torch.nn.init.uniform_(module.bias, -0.1, 0.3)
    write_tower(trunk, tmp_path / "tower.onnx")
    pixels = torch.rand(1, 3, 260, 260) * 2 - 1
    with torch.inference_mode():
        by_torch = trunk(pixels).numpy()[0]
    assert by_torch.std() > 0.01
    assert Tower(tmp_path / "tower.onnx").features_of_pixels(pixels[0].numpy()) == pytest.approx(by_torch, abs=1e-4)
