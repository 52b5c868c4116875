import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.arrays import as_unit_rows
from data.codec import to_json
from data.contracts import SpeciesScorer
from data.errors import BadImage, ConfigError, MissingKnowledgeBase, SpaceMismatch, UsageError
from data.images.decode import Photo
from recognize import FusionWeights, Recognizer
from recognize.confidence.calibration import Parameters, shipped_calibration
from recognize.scorer import RecognizerScorer
from tests.recognize.birds_in_memory import BIRDS, bird
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    for name, (colour, *_) in BIRDS.items():
        bird(colour, x=2).save(tmp_path / f"{name}.png")
    return tmp_path


def test_a_row_has_every_documented_field(store: Any, encoders: Any, folder: Any) -> None:
    path = folder / "Cardinalis cardinalis.png"
    row = next(Recognizer(store, encoders, k=2).identify([path]))
    assert (row.image, row.status, row.error, row.kb) == (str(path), "identified", None, "memory")
    assert (row.answer.rank, row.answer.common_name, row.answer.confidence) == ("species", "Northern Cardinal", None)
    assert row.seconds > 0
    first = row.candidates[0]
    assert len(row.candidates) == 2
    assert first.taxon_id == "cardinalis-cardinalis"
    assert first.summary == "Plumage bright red. Crest red, face black."
    assert {"text", "visual", "plain-colours"} <= set(first.scores)
    assert [anchor.credit for anchor in first.anchors] == ["A. Painter, private"] * 2
    assert first.anchors[0].similarity >= first.anchors[1].similarity
    assert to_json(row)["candidates"][0]["scores"]["text"] == first.scores["text"]


def test_paths_bytes_files_pictures_and_arrays_are_accepted(store: Any, encoders: Any, folder: Any) -> None:
    path = folder / "Corvus corax.png"
    array, content, name = np.asarray(Image.open(path).convert("RGB")), path.read_bytes(), str(path)
    sources = [path, name, content, Image.open(path), Photo(image=bird("black")), io.BytesIO(content), array]
    with path.open("rb") as file:
        rows = list(Recognizer(store, encoders).identify([*sources, file]))
    assert {row.answer.name for row in rows} == {"Corvus corax"}
    unnamed = [f"picture {number}" for number in (3, 5, 6, 7)]
    assert [row.image for row in rows] == [name, name, unnamed[0], name, *unnamed[1:], name]
    assert all(row.candidates == rows[0].candidates for row in rows[:4] + rows[5:])


def test_a_bad_picture_gives_an_error_row_in_order(store: Any, encoders: Any, folder: Any) -> None:
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    good = folder / "Corvus corax.png"
    with good.open("rb") as closed:
        sources = [good, folder / "broken.jpg", folder / "none.jpg", good, folder, closed]
    rows = list(Recognizer(store, encoders, batch_size=2).identify(sources))
    assert [row.status for row in rows] == ["identified", "error", "error", "identified", "error", "error"]
    assert [row.image for row in rows] == [*map(str, sources[:-1]), str(good)]
    assert "closed file" in rows[-1].error
    assert (rows[1].answer, rows[1].candidates) == (None, ())
    assert "does not exist" in rows[2].error


def test_what_is_no_photo_is_refused(store: Any, encoders: Any, folder: Any) -> None:
    grey, floats = np.zeros((9, 9), np.uint8), np.zeros((9, 9, 3))
    others = {r"array \(9, 9\) of uint8": grey, "array .* of float64": floats, "StringIO": io.StringIO("a")}
    others["TextIOWrapper"] = io.TextIOWrapper(io.BytesIO(b"\xff\xd8"))  # not UTF-8
    for name, none in {"NoneType": None, "int": 7, **others}.items():
        with pytest.raises(TypeError, match=rf"Expected a photo: .* got {name}\."):
            list(Recognizer(store, encoders).identify([none]))
    for one in ("a.jpg", folder, b"a", io.BytesIO(b"a"), np.zeros((9, 9, 3), np.uint8)):
        with pytest.raises(TypeError, match=rf"Expected a list of photos, got one {type(one).__name__}; write \[photo"):
            next(Recognizer(store, encoders).identify(one))


class Counting:
    """An encoder that records the sizes of its batches of photos."""

    name, dim, space, max_tokens = "counting", 3, "counting/1", None

    def __init__(self) -> None:
        self.batches = list[int]()

    def count_tokens(self, text: Any) -> Any:
        return len(text.split())

    def encode_texts(self, texts: Any) -> Any:
        return np.eye(3, dtype=np.float32)[[len(text) % 3 for text in texts]]

    def encode_images(self, images: Any) -> Any:
        self.batches.append(len(images))
        return as_unit_rows([np.asarray(i.resize((1, 1)), dtype=np.float64)[0, 0] + 1 for i in images])


def test_batches_are_full_and_an_encoder_of_both_stages_runs_once(encoders: Any) -> None:
    visual = Counting()
    mine = replace(encoders, text_image=(visual,), visual=visual)
    store = MemoryStore({"A b": Sketch(texts=["red"], pictures=[bird("red")])}, mine)
    recognizer = Recognizer(store, mine, batch_size=4)
    visual.batches.clear()
    sources = [bird("red") if i % 3 else b"" for i in range(30)]
    rows = list(recognizer.identify(sources))
    assert visual.batches == [4, 4, 4, 4, 4]
    assert sum(row.status == "identified" for row in rows) == 20


def test_the_stream_is_read_a_few_batches_ahead_and_stopping_leaves_no_thread(store: Any, encoders: Any) -> None:
    taken, before = [], set(threading.enumerate())

    def endless() -> Iterator[Any]:
        while True:
            taken.append(len(taken))
            yield bird("red", size=32)

    rows = Recognizer(store, encoders, batch_size=4).identify(endless())
    for _ in range(3):
        next(rows)
    assert len(taken) <= 4 + 2 * 4 + 2 * 4 + 1  # one batch yielded, two in encoding, two in decoding
    rows.close()
    assert set(threading.enumerate()) <= before


def test_species_with_only_text_or_only_anchors_are_ranked(encoders: Any) -> None:
    sketches = {
        "Rubra sola": Sketch(texts=["Plumage red."]), "Caerulea sola": Sketch(pictures=[bird("blue")]),
        "Nihil nihil": Sketch(), "Flava flava": Sketch(texts=["Plumage yellow."], pictures=[bird("gold")]),
    }  # fmt: skip
    store = MemoryStore(sketches, encoders)
    row = next(Recognizer(store, encoders, k=10).identify([bird("blue")]))
    assert row.answer.name == "Caerulea sola"
    by_id = {candidate.taxon_id: candidate for candidate in row.candidates}
    assert set(by_id) == {"rubra-sola", "caerulea-sola", "flava-flava"}
    red, blue = by_id["rubra-sola"], by_id["caerulea-sola"]
    assert (red.scores["visual"], red.anchors, blue.scores["text"], blue.summary) == (None, (), None, None)


def test_unfit_stores_presets_and_settings_are_refused(store: Any, encoders: Any) -> None:
    with pytest.raises(MissingKnowledgeBase, match="No species"):
        Recognizer(MemoryStore({}, encoders), encoders)
    with pytest.raises(MissingKnowledgeBase, match="Neither texts nor reference photos"):
        Recognizer(MemoryStore({"A b": Sketch()}, encoders), encoders)
    with pytest.raises(SpaceMismatch, match="counting/1"):
        Recognizer(store, replace(encoders, visual=Counting()))
    with pytest.raises(ConfigError, match=r'"vr-rag-v3".*vr-rag-v1, vr-rag-v2'):
        Recognizer(store, encoders, preset="vr-rag-v3")
    with pytest.raises(UsageError, match="vr-rag-v1 has no weights"):
        Recognizer(store, encoders, preset="vr-rag-v1", weights=FusionWeights(text=1, visual=1))
    for own, preset, lacking in (
        (Sketch(texts=["red"]), "anchors-only", "reference photos"),
        (Sketch(pictures=[bird("red")]), "vr-rag-v1", "descriptions"),
    ):
        with pytest.raises(UsageError, match=f"{preset} needs {lacking}, and .* has none") as error:
            Recognizer(MemoryStore({"A b": own}, encoders), encoders, preset=preset)
        assert error.value.hint == "Use --preset default."
    with pytest.raises(UsageError, match="k, n_chunks and batch_size of at least 1"):
        Recognizer(store, encoders, k=0)


IDS = {name: name.lower().replace(" ", "-") for name in BIRDS}


def made() -> tuple[MemoryStore, Any]:
    encoders = toy_encoders()
    sketches = {name: Sketch(texts=[text], pictures=[bird(colour)]) for name, (colour, _, text) in BIRDS.items()}
    return MemoryStore(sketches | {"Pica pica": Sketch()}, encoders), encoders


@pytest.fixture
def scorer() -> SpeciesScorer:
    store, encoders = made()
    return RecognizerScorer(store, lambda: Recognizer(store, encoders))


def test_the_species_of_a_photo_has_the_highest_chance_and_species_without_looks_none(
    scorer: SpeciesScorer, tmp_path: Path
) -> None:
    for name, (colour, *_) in BIRDS.items():
        path = tmp_path / f"{name}.png"
        bird(colour, x=2).save(path)
        chances = {other: scorer.chance(path, [taxon_id]) for other, taxon_id in IDS.items()}
        assert max(chances, key=lambda other: chances[other]) == name
        assert sum(chances.values()) == pytest.approx(1)
        assert scorer.chance(path, list(IDS.values())) == pytest.approx(1)
        assert scorer.chance(path, ["pica-pica", "unknown"]) == 0
    assert [scorer.knows(taxon_id) for taxon_id in ("corvus-corax", "pica-pica", "unknown")] == [True, False, False]
    assert not scorer.is_calibrated
    store, encoders = made()
    recognizer = Recognizer(store, encoders)
    recognizer.calibration = shipped_calibration()
    assert RecognizerScorer(store, lambda: recognizer).is_calibrated


def test_a_genus_is_named_only_where_the_knowledge_base_holds_several_of_its_species(encoders: Any) -> None:
    sure = Parameters(temperature=1.0, held={"species": {}, "genus": {"bias": 4.0}}, unknown={"bias": -9.0})
    for other, rank in (("Corvus albus", "genus"), ("Spinus tristis", "none")):
        sketches = {
            name: Sketch(pictures=[bird(colour)], lineage={"genus": name.split()[0]})
            for name, colour in (("Corvus corax", "black"), (other, "gold"))
        }
        recognizer = Recognizer(MemoryStore(sketches, encoders), encoders)
        recognizer._parameters = sure
        [row] = recognizer.identify([bird("black", x=2)])
        assert row.answer is not None and (row.answer.rank, row.candidates[0].confidence) == (rank, 0.5)


def test_photos_of_waiting_threads_are_recognised_together_and_one_by_one_equally(tmp_path: Path) -> None:
    store, encoders = made()
    recognizer, seen = Recognizer(store, encoders), list[list[Any]]()
    chances, first = recognizer.chances, Event()

    def slow(images: Any) -> Any:
        seen.append(list(images))
        first.wait(30)
        return chances(seen[-1])

    recognizer.chances = slow  # type: ignore[method-assign]
    paths = [tmp_path / f"{i}.png" for i in range(6)]
    for i, path in enumerate(paths[:5]):
        bird("crimson" if i % 2 else "royalblue", size=90 + i).save(path)
    paths[5].write_bytes(b"no picture")
    scorer = RecognizerScorer(store, lambda: recognizer)
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(scorer.chance, path, ["corvus-corax", "cardinalis-cardinalis"]) for path in paths]
        for _ in range(1000):
            if seen and len(scorer._waiting) == 6:
                break
            sleep(0.01)
        first.set()
        found = [each.result() for each in asked[:5]]
        with pytest.raises(BadImage):
            asked[5].result()
    assert len(seen) <= 2 and sum(map(len, seen)) == 6
    alone = RecognizerScorer(store, lambda: Recognizer(store, encoders))
    expected = [alone.chance(path, ["corvus-corax", "cardinalis-cardinalis"]) for path in paths[:5]]
    assert found == pytest.approx(expected, abs=1e-6)
    assert scorer.chance(paths[0], ["corvus-corax"]) and sum(map(len, seen)) == 6, "recognised once"
    bird("gold", size=99).save(paths[0])
    assert scorer.chance(paths[0], ["spinus-tristis"]) > 0.25 and sum(map(len, seen)) == 7, "until it changes"


def test_an_empty_knowledge_base_knows_no_species(tmp_path: Path) -> None:
    store, _ = made()

    def refuse() -> Recognizer:
        raise MissingKnowledgeBase(tmp_path, why="No species in the knowledge base")

    scorer = RecognizerScorer(store, refuse)
    assert not scorer.knows("corvus-corax") and scorer.chance(tmp_path / "a.png", ["corvus-corax"]) == 0
