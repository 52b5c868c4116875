from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from data.errors import StoreError
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import FusionWeights, default

AXES = np.eye(4, dtype=np.float32)


def table(*owners: int) -> VectorTable:
    n = len(owners)
    return VectorTable(ids=tuple("abcd"[:n]), owners=np.array(owners, dtype=np.intp), vectors=AXES[:n])


def knowledge(**changed: Any) -> Knowledge:
    whole: dict[str, Any] = {
        "n_species": 3, "names": ("clip",), "chunks": (table(0, 1, 1),), "anchors": table(0, 2),
        "trained": np.array([0, 2]), "prototypes": AXES[:2],
    }  # fmt: skip
    return Knowledge(**(whole | changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"names": ("clip", "siglip")}, "text vectors of 2 encoders, got 1"),
        ({"anchors": table(0, 2, 1)}, "owners of a table are not ascending"),
        ({"anchors": table(0, 3)}, r"owners outside 0\.\.2"),
        ({"anchors": table(-1, 2)}, r"owners outside 0\.\.2"),
        ({"trained": np.array([2, 0])}, "do not fit 2 species in order"),
        ({"trained": np.array([0])}, "2 prototypes do not fit 1 species"),
        ({"names": ("clip", "siglip"), "chunks": (table(0, 1), table(0, 1, 1))}, "belong to different chunks"),
    ],
)
def test_inconsistent_tables_are_refused(changed: dict[str, Any], message: str) -> None:
    assert knowledge().n_species == 3
    with pytest.raises(StoreError, match=message):
        knowledge(**changed)


def unit_table(owners: Any, vectors: Any) -> VectorTable:
    owners = np.array(owners, dtype=np.intp)
    return VectorTable(ids=tuple(f"i{i}" for i in range(len(owners))), owners=owners, vectors=as_unit_rows(vectors))


def fused(**changes: Any) -> Knowledge:
    base = {
        "n_species": 4, "names": ("a",), "chunks": (unit_table(range(4), AXES),),
        "anchors": unit_table([0, 1], AXES[:2]), "images": (unit_table([0, 1], AXES[:2]),), "trained": np.array([3]),
        "prototypes": AXES[2:3],
    }  # fmt: skip
    return Knowledge(**(base | changes))


def ask(visual: Any, text: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)) -> Queries:
    return Queries(text_image=(as_unit_rows([text]),), visual=as_unit_rows([visual]))


WEIGHTS = FusionWeights(text=0.1, visual=1.0, prototype=1.0, trained_text=0.1, trained_visual=0.0)


def test_a_species_without_anchors_is_found_by_its_prototype_and_the_parts_add_up_to_the_score() -> None:
    """Its photo resembles nothing in the knowledge base except the learned prototype."""
    many = np.concatenate([AXES[2:3], as_unit_rows(np.random.default_rng(0).normal(size=(2, 4)) * [1, 1, 0, 1])])
    known = fused(trained=np.array([0, 1, 3]), prototypes=many[[1, 2, 0]])
    ranking = default(known, ask([0, 0, 1, 0]), weights=WEIGHTS, m=1)[0]
    assert (ranking.species[0], ranking.stages["prototype"][0]) == (3, pytest.approx(1.0))
    plain = fused(trained=np.empty(0, dtype=np.intp), prototypes=np.empty((0, 4), dtype=np.float32))
    for each, n_stages in ((fused(), 3), (plain, 2)):
        ranking = default(each, ask([1, 0.5, 0.2, 0]), weights=WEIGHTS)[0]
        parts = [values for stage, values in ranking.stages.items() if stage.endswith("_part")]
        assert len(parts) == n_stages, "without prototypes there is no third stage"
        assert sum(parts) == pytest.approx(ranking.scores)


def test_the_bonus_goes_to_untrained_species() -> None:
    with_bonus = FusionWeights(text=0.1, visual=1.0, prototype=1.0, new_species=5.0)
    parts = default(fused(), ask([1, 0, 0, 0]), weights=with_bonus)[0]
    bonus = dict(zip(parts.species.tolist(), parts.stages["prototype_part"].tolist(), strict=True))
    assert {species for species, part in bonus.items() if part == 5.0} == {0, 1, 2}


def test_few_anchors_are_measured_against_all_species_of_the_model() -> None:
    """The deviation of a single anchor is 0, and that of two says nothing of how similar they are to the photo."""
    others = as_unit_rows(np.random.default_rng(0).normal(size=(300, 4)))
    names = tuple(f"Avis avis{i}" for i in range(len(others)))
    nobody = {"trained": np.empty(0, dtype=np.intp), "prototypes": np.empty((0, 4), dtype=np.float32)}
    known = {"background": others, "background_names": names}
    one = {"n_species": 2, "chunks": (unit_table([1], AXES[1:2]),), "anchors": unit_table([0], AXES[:1])}
    photo = ask([1, 0, 0, 0], text=(0.0, 1.0, 0.0, 0.0))  # its vector is the anchor's
    assert default(fused(**one, **nobody), photo, weights=WEIGHTS)[0].scores[0] == 0, "nothing to compare with"
    ranking = default(fused(**one, **nobody, **known), photo, weights=WEIGHTS)[0]
    assert ranking.species[0] == 0
    assert ranking.stages["visual_part"][0] == pytest.approx((1 - (others @ AXES[0]).mean()) * 2, abs=0.3)

    alike = as_unit_rows([[1, 0.1, 0, 0], [1, 0.2, 0, 0]])
    two = default(fused(**(one | {"anchors": unit_table([0, 1], alike)}), **nobody, **known), photo, weights=WEIGHTS)[0]
    assert two.stages["visual_part"].min() > 1, "both are far more similar than other birds"
