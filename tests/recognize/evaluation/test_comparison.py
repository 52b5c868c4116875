import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import accuracy_score, top_k_accuracy_score

from data.arrays import as_unit_rows
from data.contracts import Encoders
from data.errors import UsageError
from data.labelled_photos import LabelledPhoto
from data.records import Taxon, taxon_id
from recognize.evaluation.comparison import AnchorSet, Setup, compare_setups
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.evaluation.labelled import Dataset, select_photos
from recognize.photos import encode_pictures
from tests.recognize import vr_rag_reference as reference
from tests.toy.store import MemoryStore, Sketch
from tests.toy.words import PlainWords


class Hashed:
    """A `TextImageEncoder` with random vectors, the same for the same input."""

    max_tokens = None

    def __init__(self, name: Any, dim: Any) -> None:
        self.name, self.dim, self.space = name, dim, f"hashed/{name}"

    def count_tokens(self, text: Any) -> Any:
        return len(text.split())

    def _rows(self, contents: Any) -> Any:
        seeds = [hashlib.sha256(self.space.encode() + content).digest()[:8] for content in contents]
        rows = [np.random.default_rng(int.from_bytes(seed)).standard_normal(self.dim) for seed in seeds]
        return as_unit_rows(rows) if rows else np.empty((0, self.dim), dtype=np.float32)

    def encode_texts(self, texts: Any) -> Any:
        return self._rows([text.encode() for text in texts])

    def encode_images(self, images: Any) -> Any:
        return self._rows([image.tobytes() for image in images])


TEXT_IMAGE = tuple(Hashed(name, dim) for name, dim in (("a", 5), ("b", 6), ("c", 7)))
ENCODERS = Encoders(profile="paper", text_image=TEXT_IMAGE, visual=Hashed("v", 6), sentence=PlainWords())
NAMES = [f"{genus} {epithet}" for genus in ("Alba", "Nigra", "Rubra") for epithet in "abcdefghijklmno"]


def picture(number: Any) -> Any:
    return Image.new("RGB", (2, 2), (number % 256, number // 256, 7))


def sketch(number: Any) -> Sketch:
    texts = [f"Text {number} {i}." for i in range(number % 3 + (number < 40))]
    return Sketch(texts=texts, pictures=[picture(1000 + 10 * number + i) for i in range(number % 4)], common_name=None)


STORE = MemoryStore({name: sketch(i) for i, name in enumerate(NAMES)}, ENCODERS)


def encoded(pictures: Any) -> EncodedPhotos:
    n = len(pictures)
    return EncodedPhotos(
        positions=np.arange(n), queries=encode_pictures(ENCODERS, pictures), hashes=np.zeros(n, dtype=np.uint64),
        digests=("",) * n, errors={},
    )  # fmt: skip


PHOTOS = encoded([picture(i) for i in range(60)])
LABELS = [STORE.taxon_ids[(7 * i) % 20] for i in range(60)]


def world(store: Any, kept: Any) -> Any:
    """Return the arrays of a store for the plain loops, in the spaces of the encoders in `kept`."""
    chunks = [store.chunk_vectors(TEXT_IMAGE[i].space) for i in kept]
    anchors = store.anchor_vectors("hashed/v")
    return reference.World(
        n_species=len(store.taxon_ids), chunks=[table.vectors.tolist() for table in chunks],
        chunk_owners=chunks[0].owners.tolist(), anchors=anchors.vectors.tolist(), anchor_owners=anchors.owners.tolist(),
        images=[store.anchor_vectors(TEXT_IMAGE[i].space).vectors.tolist() for i in kept],
        image_owners=anchors.owners.tolist(),
    )  # fmt: skip


@cache
def ranked_by_loops(store: Any, preset: str = "vr-rag-v1", kept: Any = (0, 1, 2)) -> Any:
    """Return (species, species of chunks, species without anchors) of each photo by name."""
    its, ids, found = world(store, kept), store.taxon_ids, []
    for i, visual in enumerate(PHOTOS.queries.visual):
        text, n_without, chunks = [PHOTOS.queries.text_image[at][i].tolist() for at in kept], 0, []
        if preset == "vr-rag-v1":
            chunks, species, _, n_without = reference.v1(its, text, visual.tolist(), 30)
        elif preset == "vr-rag-v2":
            species = reference.v2(its, text, visual.tolist(), 100)[0]
        else:
            chunks, species = reference.text_only(its, text, 30)
        found.append(([ids[i] for i in species], [ids[its.chunk_owners[row]] for row in chunks], n_without))
    return found


def figures_by_loops(store: Any, preset: str, kept: Any = (0, 1, 2)) -> Any:
    sums = dict.fromkeys(("top-1", "hit@30", "MRR@5", "MRR@10", "chunk MRR@10", "genus"), 0.0)
    for (species, chunks, _), label in zip(ranked_by_loops(store, preset, kept), LABELS, strict=True):
        rank, chunk_rank = (side.index(label) + 1 if label in side else 10**9 for side in (species, chunks))
        sums["top-1"] += rank == 1
        sums["hit@30"] += rank <= 30
        sums["MRR@5"] += 1 / rank if rank <= 5 else 0
        sums["MRR@10"] += 1 / rank if rank <= 10 else 0
        sums["chunk MRR@10"] += 1 / chunk_rank if chunk_rank <= 10 else 0
        sums["genus"] += species[0].split("-")[0] == label.split("-")[0]
    return {name: total / len(LABELS) for name, total in sums.items()}


def compared(store: Any, setups: Any, photos: Any = PHOTOS, labels: Any = LABELS, **options: Any) -> Any:
    return compare_setups(store, ENCODERS, photos, labels, setups, **({"n_resamples": 100} | options)).figures


def measures(figures: Any) -> Any:
    return [(each.measures, each.n_without_anchors) for each in figures]


def test_a_bounded_vocabulary_matches_a_store_of_the_labelled_species() -> None:
    asked = sorted(set(LABELS))
    small = MemoryStore({name: sketch(i) for i, name in enumerate(NAMES) if STORE.taxon_ids[i] in asked}, ENCODERS)
    presets = ("vr-rag-v1", "vr-rag-v2", "text-only", "anchors-only", "default")
    bounded = compared(STORE, [Setup(preset=p, vocabulary="bounded") for p in presets])
    assert measures(bounded) == measures(compared(small, [Setup(preset=p) for p in presets]))
    assert {figures.n_searched for figures in bounded} == {20}
    for figures, preset in zip(bounded, presets[:2], strict=False):
        expected = figures_by_loops(small, preset)
        if preset == "vr-rag-v2":
            del expected["chunk MRR@10"]
        assert {name: figures[name].micro for name in expected} == pytest.approx(expected)


def test_setups_are_tested_against_the_first_of_their_vocabulary_and_p_values_corrected_within_each_measure() -> None:
    presets = ("vr-rag-v1", "text-only", "vr-rag-v2", "anchors-only")
    setups = [Setup(preset=p, vocabulary=v) for v in ("open", "bounded") for p in presets]
    found = compare_setups(STORE, ENCODERS, PHOTOS, LABELS, setups, n_resamples=200)
    assert [(t.setup, t.baseline, t.measure) for t in found.tests] == [
        (setup, setups[first], measure)
        for first in (0, 4)
        for measure in ("top-1", "MRR@10")
        for setup in setups[first + 1 : first + 4]
    ]
    tests = found.tests[3:6]
    for at, test in enumerate(tests, 1):
        difference = found.figures[at]["MRR@10"].macro - found.figures[0]["MRR@10"].macro
        assert (test.test.difference, test.test.n) == (pytest.approx(difference), 20)
    ascending = sorted(tests, key=lambda test: test.test.p_value)
    expected, largest = [], 0.0
    for left, test in zip((3, 2, 1), ascending, strict=True):
        largest = max(largest, min(1.0, left * test.test.p_value))
        expected.append(largest)
    assert [test.p_corrected for test in ascending] == expected
    assert ascending[0].p_corrected > ascending[0].test.p_value


def test_of_several_presets_those_without_their_texts_or_photos_are_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    described = MemoryStore({"Alba alba": Sketch(texts=["White."])}, ENCODERS)
    setups = [Setup(preset=preset) for preset in ("anchors-only", "text-only", "vr-rag-v1", "vr-rag-v2", "default")]
    found = compare_setups(described, ENCODERS, PHOTOS, LABELS, setups, n_resamples=100)
    assert [figures.setup for figures in found.figures] == setups[1:]
    assert {test.baseline for test in found.tests} == {setups[1]}
    assert caplog.messages == [
        f"The preset anchors-only needs reference photos, and {described.path} has none. It is left out."
    ]
    with pytest.raises(UsageError, match="text-only needs descriptions"):
        compared(MemoryStore({"Alba a": Sketch()}, ENCODERS), setups[1:])
    with pytest.raises(UsageError, match="a label for each of at least one photo, got 59 for 60"):
        compared(described, setups, PHOTOS, LABELS[1:])


def test_an_anchor_set_matches_a_store_built_with_its_photos() -> None:
    """A third of the species is covered: two get photos, the other covered species have no anchor."""
    covered = STORE.taxon_ids[::3]
    given = [(covered[0], picture(5001)), (covered[2], picture(5002)), (covered[0], picture(5003))]
    shown = encoded([picture for _, picture in given])
    anchor_set = AnchorSet(covered=(*covered, "rara-avis"), photos=shown, labels=tuple(each for each, _ in given))
    sketches = {}
    for i, name in enumerate(NAMES):
        its = name.lower().replace(" ", "-")
        own = [picture for each, picture in given if each == its] if its in covered else sketch(i).pictures
        sketches[name] = Sketch(texts=sketch(i).texts, pictures=own)
    rebuilt = MemoryStore(sketches, ENCODERS)
    presets = ("anchors-only", "vr-rag-v1", "vr-rag-v2", "default")
    setups = [Setup(preset=p, vocabulary=v, anchors="train") for p in presets for v in ("open", "bounded")]
    found = measures(compared(STORE, setups, anchor_sets={"train": anchor_set}))
    plain = [Setup(preset=setup.preset, vocabulary=setup.vocabulary) for setup in setups]
    assert found == measures(compared(rebuilt, plain))
    assert found != measures(compared(STORE, plain))


def test_figures_match_ir_measures_and_scikit_learn_and_intervals_match_a_bootstrap_in_plain_loops() -> None:
    """Independent code: hit@30 is success, MRR@k is reciprocal rank, top-1 and genus are accuracy."""
    ir_measures = pytest.importorskip("ir_measures", reason="the extra `test` has ir-measures")
    setup = Setup(preset="vr-rag-v1")
    (figures,) = compared(STORE, [setup], n_resamples=4_000)
    rankings, _, n_without = zip(*ranked_by_loops(STORE), strict=True)
    assert 0 < figures.n_without_anchors == pytest.approx(np.mean(n_without))
    run = {str(q): {s: 100.0 - rank for rank, s in enumerate(ranking)} for q, ranking in enumerate(rankings)}
    qrels = {str(q): {label: 1} for q, label in enumerate(LABELS)}
    names = {f"MRR@{k}": ir_measures.RR @ k for k in (1, 5, 10)} | {"hit@30": ir_measures.Success @ 30}
    found = ir_measures.calc_aggregate(list(names.values()), qrels, run)
    expected = {name: found[measure] for name, measure in names.items()}
    firsts = [ranking[0] for ranking in rankings]
    genera = [[each.split("-")[0] for each in side] for side in (LABELS, firsts)]
    scores = [[run[str(q)].get(s, 0.0) for s in STORE.taxon_ids] for q in range(len(LABELS))]
    expected |= {"top-1": accuracy_score(LABELS, firsts), "genus": accuracy_score(*genera)}
    expected["top-5"] = top_k_accuracy_score(LABELS, scores, k=5, labels=list(STORE.taxon_ids))
    assert {name: figures[name].micro for name in expected} == pytest.approx(expected)

    values: dict[str, list[float]] = {}
    for ranking, label in zip(rankings, LABELS, strict=True):
        values.setdefault(label, []).append(float(label in ranking[:30]))
    rng, each = np.random.default_rng(99), list(values.values())
    drawn = (np.concatenate([each[i] for i in rng.integers(len(each), size=len(each))]) for _ in range(4_000))
    bounds = np.percentile([some.mean() for some in drawn], [2.5, 97.5])
    assert figures["hit@30"].micro_interval == pytest.approx(bounds.tolist(), abs=0.03), "with draws of its own"


def test_photos_outside_the_knowledge_base_are_counted_and_a_limit_spreads_the_others() -> None:
    labels = ("Mallard", "Kea", "Mallard", "Nothing", "Wren", "Mallard")
    names = {"Mallard": "Anas platyrhynchos", "Kea": "Nestor notabilis", "Wren": "Troglodytes troglodytes"}
    taxa = {
        label: Taxon(taxon_id=taxon_id(name), scientific_name=name, rank="species") for label, name in names.items()
    }
    photos = tuple(LabelledPhoto(path=Path(f"{i}.jpg"), label=label) for i, label in enumerate(labels))
    dataset = Dataset(kind="folders", photos=photos, anchors={"train": photos[:2]}, covered=("Mallard", "Nothing"))
    held = {"anas-platyrhynchos", "troglodytes-troglodytes"}
    found = select_photos(dataset, taxa, held)
    assert [photo.path.name for photo in found.photos] == ["0.jpg", "2.jpg", "4.jpg", "5.jpg"]
    assert found.labels[2] == "troglodytes-troglodytes"
    assert (found.n_photos, found.n_unmatched, found.absent, found.n_absent) == (6, 1, ("Nestor notabilis",), 1)
    assert [label for _, label in found.anchors["train"]] == ["anas-platyrhynchos", "nestor-notabilis"]
    assert (found.kind, found.covered) == ("folders", ("anas-platyrhynchos",))
    few = select_photos(dataset, taxa, held, limit=2)
    assert [photo.path.name for photo in few.photos] == ["0.jpg", "4.jpg"] and few.n_absent == 1
