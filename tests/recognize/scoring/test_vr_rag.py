from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import FusionWeights, anchor_mode, default
from recognize.scoring.vr_rag import anchors_only, text_only, vr_rag_v1, vr_rag_v2
from tests.recognize import vr_rag_reference as reference


def table(rng: Any, owners: Any, dim: Any, vectors: Any) -> VectorTable:
    owners, ids = np.array(sorted(owners), dtype=np.intp), tuple(map(str, range(len(owners))))
    return VectorTable(ids=ids, owners=owners, vectors=vectors(rng, len(owners), dim))


def random_units(rng: Any, n: Any, dim: Any) -> Any:
    return as_unit_rows(rng.standard_normal((n, dim))) if n else np.empty((0, dim), dtype=np.float32)


def coarse(rng: Any, n: Any, dim: Any) -> Any:
    """Return vectors of few values, exact in binary, so that products often tie."""
    return rng.choice(np.array([-0.5, 0.0, 0.5], dtype=np.float32), size=(n, dim))


def equal(rng: Any, n: Any, dim: Any) -> Any:
    return np.full((n, dim), 0.25, dtype=np.float32)


def doubled(rng: Any, n: Any, dim: Any) -> Any:
    """Return every vector twice, far apart and not exact in binary."""
    half = random_units(rng, (n + 1) // 2, dim)
    return np.concatenate([half, half])[:n]


def alike(rng: Any, n: Any, dim: Any) -> Any:
    """Return nearly equal vectors, each twice with a difference below the precision of float32 products.

    The scores of a photo hardly vary, so dividing them by their deviation magnifies rounding errors.
    """
    half = as_unit_rows(np.ones(dim) + 0.01 * rng.standard_normal(((n + 1) // 2, dim)))
    noise = 1e-7 * rng.standard_normal(half.shape)
    return np.concatenate([half, (half + noise).astype(np.float32)])[:n]


KINDS = {"random": random_units, "coarse": coarse, "equal": equal, "doubled": doubled, "alike": alike}
# n_species, chunks per species, anchors per species, encoders
SHAPES = {
    "one chunk, three anchors": (40, (1, 1), (3, 3), 3), "many chunks, few anchors": (25, (1, 6), (0, 2), 2),
    "one encoder": (30, (1, 3), (0, 5), 1), "no anchors": (20, (1, 2), (0, 0), 2), "gaps": (30, (0, 2), (0, 3), 2),
    "one species": (1, (1, 1), (1, 1), 1), "hundreds": (700, (1, 3), (0, 3), 1),
}  # fmt: skip


def make(shape: Any, kind: Any, *, seed: int = 0, n_photos: int = 3) -> Any:
    n_species, (low_c, high_c), (low_a, high_a), n_encoders = SHAPES.get(shape, shape)
    rng, vectors = np.random.default_rng(seed), KINDS[kind]
    chunk_owners = np.repeat(np.arange(n_species), rng.integers(low_c, high_c + 1, n_species))
    anchor_owners = np.repeat(np.arange(n_species), rng.integers(low_a, high_a + 1, n_species))
    dims = [8, 12, 16][:n_encoders]
    knowledge = Knowledge(
        n_species=n_species, names=tuple("abc"[:n_encoders]), anchors=table(rng, anchor_owners, 10, vectors),
        chunks=tuple(table(rng, chunk_owners, dim, vectors) for dim in dims),
        images=tuple(table(rng, anchor_owners, dim, vectors) for dim in dims),
    )  # fmt: skip
    queries = Queries(text_image=tuple(vectors(rng, n_photos, dim) for dim in dims), visual=vectors(rng, n_photos, 10))
    world = reference.World(
        n_species=n_species, chunks=[t.vectors.tolist() for t in knowledge.chunks], chunk_owners=chunk_owners.tolist(),
        anchors=knowledge.anchors.vectors.tolist(), anchor_owners=anchor_owners.tolist(),
        images=[t.vectors.tolist() for t in knowledge.images], image_owners=anchor_owners.tolist(),
    )  # fmt: skip
    return knowledge, queries, world


PRESETS: dict[str, Any] = {
    "vr-rag-v1": vr_rag_v1, "vr-rag-v2": vr_rag_v2, "text-only": text_only, "anchors-only": anchors_only,
    "default": partial(default, weights=FusionWeights(text=0.25, visual=1.0)),
}  # fmt: skip


def check(preset: str, made: Any, m: int, *, has_ties: bool) -> None:
    """Compare with the reference: the order may differ where its scores differ by less than rounding."""
    knowledge, queries, world = made
    rankings = PRESETS[preset](knowledge, queries, m=m)
    assert len(rankings) == len(queries)
    for i, ranking in enumerate(rankings):
        text, look = [q[i].tolist() for q in queries.text_image], queries.visual[i].tolist()
        chunks: Any = None
        if preset == "vr-rag-v1":
            chunks, species, scores = reference.v1(world, text, look, m)
        elif preset == "vr-rag-v2":
            species, scores = reference.v2(world, text, look, m)
            bare = [one not in world.anchor_owners for one in ranking.species]
            assert np.isnan(ranking.stages["visual"]).tolist() == bare
        elif preset == "text-only":
            chunks, species, scores = reference.text_only(world, text, m)
        elif preset == "anchors-only":
            species, scores = reference.anchors_only(world, look, m)
        else:
            species, scores = reference.default(world, text, look, m, 0.25)
        if has_ties:
            assert ranking.species.tolist() == species
            assert chunks is None or ranking.chunks.tolist() == chunks
        assert chunks is None or sorted(ranking.chunks) == sorted(chunks)
        rounding = 1e-6 / (reference.unit(world, text, look) if preset == "default" else 1)
        of_species = dict(zip(species, scores, strict=True))
        expected = pytest.approx(scores, abs=rounding, rel=rounding)
        assert [of_species[one] for one in ranking.species] == expected
        assert ranking.scores == expected


CASES = [
    ("vr-rag-v1", "many chunks, few anchors", "coarse", 30),
    ("vr-rag-v1", "hundreds", "alike", 2000),
    ("vr-rag-v2", "hundreds", "random", 100),
    ("text-only", "hundreds", "alike", 2000),
    ("text-only", "hundreds", "doubled", 30),
    ("anchors-only", "hundreds", "doubled", 1000),
    ("default", "hundreds", "random", 100),
]


@pytest.mark.parametrize(("preset", "shape", "kind", "m"), CASES)
def test_rankings_match_plain_loops(preset: str, shape: str, kind: str, m: int) -> None:
    check(preset, make(shape, kind), m, has_ties=kind != "alike")


@given(data=st.data())
@settings(max_examples=60)
def test_rankings_of_any_shape_match_plain_loops(data: st.DataObject) -> None:
    preset, kind = data.draw(st.sampled_from(sorted(PRESETS))), data.draw(st.sampled_from(["random", "equal"]))
    chunks, anchors = (data.draw(st.tuples(st.integers(0, 2), st.integers(0, 4))) for _ in range(2))
    n_species, n_encoders = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 3))
    shape = (n_species, (min(chunks), max(chunks)), (min(anchors), max(anchors)), n_encoders)
    m, seed = data.draw(st.sampled_from([1, 5, 30, 1000])), data.draw(st.integers(0, 9))
    check(preset, make(shape, kind, seed=seed), m, has_ties=True)


@pytest.mark.parametrize("alike", ["text", "visual"])
def test_a_stage_with_equal_rows_contributes_zero(alike: str) -> None:
    """The scores differ by rounding alone, which must not be magnified into deviations."""
    knowledge, queries, _ = make("one chunk, three anchors", "random")
    for rows in knowledge.chunks if alike == "text" else (knowledge.anchors,):
        rows.vectors[:] = rows.vectors[:1]
    for ranking in default(knowledge, queries, weights=FusionWeights(text=1.0, visual=1.0)):
        other = "visual" if alike == "text" else "text"
        assert not ranking.stages[f"{alike}_part"].any()
        assert ranking.scores == pytest.approx(ranking.stages[f"{other}_part"])


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_photo_has_the_same_bits_alone_and_among_others(preset: str) -> None:
    knowledge, queries, _ = make("hundreds", "alike", n_photos=200)
    together = PRESETS[preset](knowledge, queries)
    for i in (0, 17, 63, 64, 199):
        alone = PRESETS[preset](knowledge, queries[i : i + 1])[0]
        assert alone.species.tolist() == together[i].species.tolist()
        assert alone.scores.tobytes() == together[i].scores.tobytes()
        assert {name: values.tobytes() for name, values in alone.stages.items()} == {
            name: values.tobytes() for name, values in together[i].stages.items()
        }


def test_the_anchor_mode_follows_the_number_of_anchors_and_vectors_of_another_length_are_refused() -> None:
    knowledge, queries, _ = make("gaps", "random")
    wrong = replace(queries, visual=queries.visual[:, :-1])
    with pytest.raises(ValueError, match=r"dims \[8, 12, 10\]"):
        vr_rag_v1(knowledge, wrong)
    shapes = ("one chunk, three anchors", "one species", "no anchors")
    assert [anchor_mode(make(shape, "random")[0]) for shape in shapes] == ["several", "single", "single"]
