import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recognize import load_encoders
from recognize import tower as tower_module
from recognize.starter import encoders as starter
from recognize.starter.encoders import HEADS_FILE, TOWER_FILE, Weights, load_starter, visible_words
from recognize.tower import IMAGE_PX, Tower, int8_overflows, open_model


@pytest.fixture(scope="module")
def encoders() -> Any:
    return load_starter()


def pictures(n: Any) -> Any:
    rng = np.random.default_rng(n)
    return [Image.fromarray(rng.integers(0, 256, (40, 60, 3), dtype=np.uint8)) for _ in range(n)]


def test_the_files_are_small() -> None:
    folder = Weights().folder
    assert (folder / TOWER_FILE).stat().st_size <= 14e6 and (folder / HEADS_FILE).stat().st_size <= 11e6


def test_each_space_names_the_weights_it_depends_on(encoders: Any) -> None:
    """Photo vectors depend on tower and heads, sentence vectors on the heads alone."""
    tower, heads = encoders.visual.weights.tower.digest, encoders.visual.weights.revision
    pair, look, words = encoders.spaces
    assert all(part in space for space in (pair, look) for part in (tower, heads, "260"))
    assert heads in words and tower not in words
    asked, same, other = encoders.text_image[0].weights.heads.encode_pairs(
        ["Red crown.", "A reddish cap.", "Tail red."]
    )
    assert (asked @ same, asked @ other) == (pytest.approx(1, abs=1e-6), 0), "synonyms are the same pair"


def test_features_of_repeated_pictures_are_cached(tmp_path: Path) -> None:
    """For pictures just seen, the tower does not even need its file."""
    path = tmp_path / "tower.onnx"
    path.write_bytes((Weights().folder / TOWER_FILE).read_bytes())
    tower, images = Tower(path), pictures(3)
    first = tower.features(images)
    kept = first.copy()
    first[:] = 0
    tower._session = None
    path.unlink()
    assert (tower.features(images) == kept).all(), "changing returned features leaves the cache intact"


def test_prototypes_are_unit_rows_of_named_species(encoders: Any) -> None:
    names, rows = encoders.visual.prototypes()
    assert len(names) == len(set(names)) == len(rows) > 1500
    assert rows.shape[1] == encoders.visual.dim
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    hashes = encoders.visual.photo_hashes()
    assert (hashes.dtype, len(hashes)) == (np.uint64, 4_574), "one for each training photo, as the model card says"
    assert (hashes[1:] >= hashes[:-1]).all()


def pairs(text: Any) -> Any:
    found = [
        divmod(pair, len(starter.ATTRIBUTES))
        for words in starter.sentences_of(text)
        for pair in starter.pairs_of(words)
    ]
    return {f"{starter.ATTRIBUTES[attribute]} {starter.PARTS[part]}" for part, attribute in found}


def test_pairs_are_of_synonyms_within_five_words_of_a_sentence() -> None:
    assert pairs("The beak is gray.") == pairs("grey bill") == {"grey bill"}
    for end in (".", ";", "!", "?", "\n"):
        assert pairs(f"red crown{end} black tail") == {"red crown", "black tail"}
    assert pairs("red one two three four crown") == {"red crown"}
    assert pairs("red one two three four five crown") == set()


def test_looks_and_kinds_of_birds_are_visible_but_not_behaviour_places_and_other_animals() -> None:
    for text, words in (
        ("a bird with a conical bill and a forked tail", ("conical", "forked")),
        ("a black and white bird swimming", ("black", "white")),
        ("a crested bird", ("crested",)),
        ("red", ("red",)),
        ("mouse-grey upperparts, fox sparrow", ("grey", "sparrow")),
        ("three herons in flight", ("herons",)),
        ("Two frogs in amplexus. A smaller frog or toad that sits on the back of a larger one.", ()),
        ("a nest with blue eggs", ()),
        ("green 26", ()),
        ("a bill", ()),
        ("an eagle with a fish in its yellow bill", ()),
        ("", ()),
    ):
        assert visible_words(text) == words, text
    (pair,) = load_encoders("starter").text_image
    assert pair.visible_words("a red crown") == ("red",)  # type: ignore[attr-defined]


TOWER = Weights().folder / TOWER_FILE


def test_features_are_those_of_exact_sums_where_int8_overflows_and_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit. Each picture has one thread."""
    pixels = np.random.default_rng(0).uniform(-1, 1, size=(1, 3, IMAGE_PX, IMAGE_PX)).astype(np.float32)
    found = open_model(TOWER).run(None, {"pixels": pixels})[0]
    for overflows in (False, True):
        monkeypatch.setattr(tower_module, "int8_overflows", lambda overflows=overflows: overflows)
        model = open_model(TOWER)
        options = model.get_session_options()
        assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
        assert options.get_session_config_entry("session.x64quantprecision") == str(int(overflows))
    np.testing.assert_array_equal(found, model.run(None, {"pixels": pixels})[0])


@pytest.mark.parametrize(("product", "overflows"), [(64 * 255 * 127, False), (32 * 32767, True)])
def test_a_product_that_is_too_small_is_an_overflow(
    product: int, overflows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without VNNI, each pair of products is cut to 32767."""

    class Processor:
        def run(self, outputs: None, numbers: dict[str, Any]) -> list[Any]:
            assert [numbers[name].min() for name in ("a", "b")] == [255, 127]
            return [np.full((4, 16), product)]

    monkeypatch.setattr(tower_module, "_open", lambda path, *, is_exact: Processor())
    int8_overflows.cache_clear()
    assert int8_overflows() is overflows
    int8_overflows.cache_clear()


def test_a_process_forked_after_encoding_encodes_too(encoders: Any) -> None:
    """The threads of the parent do not exist in it."""
    tower, images = encoders.visual.weights.tower, pictures(2)
    expected = tower.features(images)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(tower.features(pictures(2))))
    child.start()
    child.join(60)
    child.kill()
    assert child.exitcode == 0
    np.testing.assert_array_equal(answers.get(), expected)
