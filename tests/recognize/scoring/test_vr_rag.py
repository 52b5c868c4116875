from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from recognize.scoring import exact
from recognize.scoring.exact import DOUBT, Pairs
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import FusionWeights, anchor_mode, default
from recognize.scoring.stages import AnchorStage
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


def check(preset: str, made: Any, kind: str, m: int) -> None:
    knowledge, queries, world = made
    rankings = PRESETS[preset](knowledge, queries, m=m)
    assert len(rankings) == len(queries)
    for i, ranking in enumerate(rankings):
        text, look = [q[i].tolist() for q in queries.text_image], queries.visual[i].tolist()
        if preset == "vr-rag-v1":
            chunks, species, scores, n_without = reference.v1(world, text, look, m)
            assert (ranking.chunks.tolist(), ranking.n_without_anchors) == (chunks, n_without)
        elif preset == "vr-rag-v2":
            species, scores = reference.v2(world, text, look, m)
            bare = [one not in world.anchor_owners for one in species]
            assert ranking.n_without_anchors == sum(bare)
            assert np.isnan(ranking.stages["visual"]).tolist() == bare[:10]
        elif preset == "text-only":
            chunks, species = reference.text_only(world, text, m)
            assert ranking.chunks.tolist() == chunks
            scores = ranking.scores
        elif preset == "anchors-only":
            species, scores = reference.anchors_only(world, look, m)
        else:
            species, scores = reference.default(world, text, look, m, 0.25)
        assert ranking.species.tolist() == species
        assert ranking.scores[:10] == pytest.approx(scores[:10], abs=1e-6)
        rough = 1e-6 if preset != "default" else 1e-2 if kind == "alike" else 1e-5
        assert ranking.scores == pytest.approx(scores, abs=rough)


# Vectors whose true ties a preset keeps: a blend is rounded to float32, and so is the length of a mean anchor.
EXACT = {"vr-rag-v2": {"random", "coarse", "equal", "doubled"}, "default": {"random", "equal"}}
CASES = [
    ("vr-rag-v1", "many chunks, few anchors", "coarse", 30),
    ("vr-rag-v1", "hundreds", "alike", 30),
    ("vr-rag-v2", "hundreds", "random", 100),
    ("text-only", "hundreds", "alike", 30),
    ("anchors-only", "hundreds", "doubled", 1000),
    ("default", "hundreds", "random", 100),
]


@pytest.mark.parametrize(("preset", "shape", "kind", "m"), CASES)
def test_rankings_match_plain_loops(preset: str, shape: str, kind: str, m: int) -> None:
    check(preset, make(shape, kind), kind, m)


@given(data=st.data())
@settings(max_examples=60)
def test_rankings_of_any_shape_match_plain_loops(data: st.DataObject) -> None:
    preset = data.draw(st.sampled_from(sorted(PRESETS)))
    kind = data.draw(st.sampled_from(sorted(EXACT.get(preset, set(KINDS)))))
    few = preset == "vr-rag-v2" and kind != "random"  # a mean of three vectors is not exact in binary
    chunks, anchors = (data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2 if few else 4))) for _ in range(2))
    n_species, n_encoders = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 2 if few else 3))
    shape = (n_species, (min(chunks), max(chunks)), (min(anchors), max(anchors)), n_encoders)
    m, seed = data.draw(st.sampled_from([1, 5, 30, 1000])), data.draw(st.integers(0, 9))
    check(preset, make(shape, kind, seed=seed), kind, m)


@pytest.mark.parametrize("alike", ["text", "visual"])
def test_a_stage_with_equal_rows_contributes_zero(alike: str) -> None:
    """The scores differ by rounding alone, which must not be magnified into deviations."""
    knowledge, queries, _ = make("one chunk, three anchors", "random")
    for rows in knowledge.chunks if alike == "text" else (knowledge.anchors,):
        rows.vectors[:] = rows.vectors[:1]
    for ranking in default(knowledge, queries, weights=FusionWeights(text=1.0, visual=1.0)):
        other = "visual" if alike == "text" else "text"
        assert ranking.stages[f"{alike}_part"].tolist() == [0.0] * 10
        assert ranking.scores[:10].tolist() == ranking.stages[f"{other}_part"].round(12).tolist()


def test_rounding_does_not_affect_centroids_of_nearly_opposite_anchors() -> None:
    rng = np.random.default_rng(0)
    looks = random_units(rng, 60, 10)
    looks[1::2] = as_unit_rows(-looks[::2] + 1e-4 * rng.standard_normal((30, 10)))
    owners = np.repeat(np.arange(30), 2)
    anchors = VectorTable(ids=tuple(map(str, range(60))), owners=owners, vectors=looks)
    world = reference.World(30, [[]], [], looks.tolist(), owners.tolist(), [], [])
    queries = random_units(rng, 70, 10)
    known = Knowledge(n_species=30, names=(), chunks=(), anchors=anchors)
    pairs = Pairs(np.repeat(np.arange(70), 30), np.tile(np.arange(30), 70))
    scores = AnchorStage(known, queries, "centroid").of_product(pairs, queries @ looks.T)
    expected = [reference.anchor_score(world, query.tolist(), i, "centroid") for query in queries for i in range(30)]
    assert scores == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_ranking_does_not_depend_on_the_other_photos(preset: str) -> None:
    knowledge, queries, _ = make("hundreds", "alike", n_photos=520)
    together = PRESETS[preset](knowledge, queries)
    for i in (0, 17, 127, 128, 511, 512, 519):
        alone = PRESETS[preset](knowledge, queries[i : i + 1])[0]
        assert alone.species.tolist() == together[i].species.tolist()
        assert alone.scores == pytest.approx(together[i].scores, abs=1e-2)
        assert alone.scores[:10] == pytest.approx(together[i].scores[:10], rel=1e-11)


def test_the_anchor_mode_follows_the_number_of_anchors_and_vectors_of_another_length_are_refused() -> None:
    knowledge, queries, _ = make("gaps", "random")
    wrong = replace(queries, visual=queries.visual[:, :-1])
    with pytest.raises(ValueError, match=r"dims \[8, 12, 10\]"):
        vr_rag_v1(knowledge, wrong)
    shapes = ("one chunk, three anchors", "one species", "no anchors")
    assert [anchor_mode(make(shape, "random")[0]) for shape in shapes] == ["several", "single", "single"]


def test_errors_below_half_of_the_doubt_change_no_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights and the spread of a photo's scores scale the stages, and product errors with them."""
    doubled, alike = (make("hundreds", kind, n_photos=20)[:2] for kind in ("doubled", "alike"))

    def rank() -> Any:
        found = (*PRESETS["default"](*alike), *anchors_only(*doubled), *anchors_only(*alike))
        return [ranking.species.tolist() for ranking in found]

    expected, plain, rng = rank(), exact.multiply, np.random.default_rng(3)

    def off(queries: Any, matrix: Any) -> Any:
        scores = plain(queries, matrix)
        return scores + (0.45 * DOUBT * rng.choice([-1, 1], size=scores.shape)).astype(np.float32)

    monkeypatch.setattr(exact, "multiply", off)
    assert rank() == expected
