from typing import Any

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, P, R, Success, nDCG
from sklearn.metrics import average_precision_score, ndcg_score

from data.metrics.ranked import DEFINITIONS
from rerank.evaluation.measures import RankedList
from rerank.evaluation.measures import figures_of as all_figures_of
from rerank.evaluation.request import TIE_POLICIES


def figures_of(ranked: RankedList, relevant: frozenset[str], **more: Any) -> dict[str, float]:
    """Return the figures of one list."""
    return all_figures_of({"q": ranked}, {"q": relevant}, **more)["q"]


CUTOFFS = (1, 3, 10, 50, 100)
EXACT = {"abs": 1e-9, "rel": 0}


def random_list(rng: Any, kind: Any) -> Any:
    """Return a random ranked list with ties of this kind, and its relevant images."""
    n = int(rng.integers(1, 60))
    ids = [f"i{number:03d}" for number in rng.permutation(500)[:n]]
    # Multiples of 1/8 are exact in single precision, which trec_eval uses for scores.
    levels = {"ties": 4, "constant": 1, "none": 10_000}[kind.split()[0]]
    scores = (rng.integers(0, levels, size=n) / 8).tolist()
    if "all" in kind:
        relevant = frozenset(ids)
    elif "empty" in kind:
        relevant = frozenset()
    else:
        found = [image_id for image_id in ids if rng.random() < 0.3]
        # Sometimes more relevant images are missed than listed.
        relevant = frozenset(
            [*found, *(f"missed{m}" for m in range(int(rng.integers(0, 3)) * int(rng.choice([1, 30]))))]
        )
    order = sorted(range(n), key=lambda i: -scores[i])
    ranked = RankedList(image_ids=tuple(ids[i] for i in order), scores=tuple(scores[i] for i in order))
    return ranked, relevant


def test_figures_with_trec_ties_are_those_of_trec_eval_which_settles_the_ties_itself() -> None:
    for kind in ("ties", "ties all", "ties empty", "none", "constant"):
        rng = np.random.default_rng(len(kind))
        lists = {f"q{number}": random_list(rng, kind) for number in range(40)}
        judged = {q: {i: int(i in relevant) for i in (*of.image_ids, *relevant)} for q, (of, relevant) in lists.items()}
        run = {q: dict(zip(of.image_ids, of.scores, strict=True)) for q, (of, _) in lists.items()}
        names = {AP: "AP", nDCG: "nDCG", RR: "MRR"}
        for k in CUTOFFS:
            names |= {AP @ k: f"AP@{k}", nDCG @ k: f"nDCG@{k}", P @ k: f"P@{k}", R @ k: f"R@{k}"}
            names |= {Success @ k: f"hit@{k}"}
        ranked, relevant = ({q: pair[i] for q, pair in lists.items()} for i in (0, 1))
        ours = all_figures_of(ranked, relevant, cutoffs=CUTOFFS, ties="trec")
        compared = 0
        for found in ir_measures.iter_calc(list(names), judged, run):
            name = names[found.measure]
            assert ours[found.query_id][name] == pytest.approx(found.value, **EXACT), (kind, found.query_id, name)
            compared += 1
        assert compared == len(names) * len(lists)


@pytest.mark.parametrize("kind", ("ties", "none", "constant all"))
def test_figures_with_inquire_ties_match_its_definitions_and_without_ties_all_rules_agree(kind: Any) -> None:
    """INQUIRE: scikit-learn's AP times hits / min(relevant, k), its nDCG with the missed ones last, ties flipped."""
    rng = np.random.default_rng(7 + len(kind))
    for _ in range(40):
        ranked, relevant = random_list(rng, kind)
        found = figures_of(ranked, relevant, cutoffs=CUTOFFS, ties="inquire")
        y_true = np.array(ranked.relevance(relevant), dtype=int)
        y_pred, n = np.array(ranked.scores), len(relevant)
        k = len(y_true)
        hits = int(y_true.sum())
        ap = average_precision_score(y_true, y_pred) * hits / min(n, k) if hits else 0.0
        assert found["AP (INQUIRE)"] == pytest.approx(ap, **EXACT)
        for cutoff in CUTOFFS:
            if 1 < cutoff < k:
                top, of_top = y_true[:cutoff], int(y_true[:cutoff].sum())
                ap = average_precision_score(top, y_pred[:cutoff]) * of_top / min(n, cutoff) if of_top else 0.0
                assert found[f"AP@{cutoff} (INQUIRE)"] == pytest.approx(ap, **EXACT)
                if kind == "none":
                    plain = figures_of(ranked, relevant, cutoffs=(cutoff,))
                    assert plain == pytest.approx(figures_of(ranked, relevant, cutoffs=(cutoff,), ties="expected"))
                    assert plain[f"AP@{cutoff} (INQUIRE)"] == plain[f"mAP@{cutoff}"] == pytest.approx(ap, **EXACT)
        n_missed = n - hits
        whole_true, whole_pred = [*y_true, *([1] * n_missed)], [*y_pred, *([-100.0] * n_missed)]
        if n and len(whole_true) > 1:
            for cutoff in (*CUTOFFS, k):
                expected = ndcg_score([whole_true], [whole_pred], k=cutoff)
                name = f"nDCG@{cutoff}" if cutoff in CUTOFFS else "nDCG"
                # Beyond the list, scikit-learn counts the missed images, which no list can rank.
                if cutoff <= k:
                    assert found[name] == pytest.approx(expected, **EXACT)
        flipped = y_true[np.argsort(y_pred, kind="stable")[::-1]].tolist()
        assert found["MRR"] == (1 / (flipped.index(1) + 1) if hits else 0.0)


def test_an_empty_list_or_no_relevant_image_scores_0_and_a_cutoff_below_1_is_refused() -> None:
    ranked = RankedList(image_ids=("a", "b"), scores=(0.5, 0.5))
    for ties in TIE_POLICIES:
        assert set(figures_of(RankedList(), frozenset("a"), cutoffs=(1, 5), ties=ties).values()) == {0.0}
        assert set(figures_of(ranked, frozenset(), cutoffs=(1, 5), ties=ties).values()) == {0.0}
    with pytest.raises(ValueError, match="cutoffs >= 1, got 10, 0"):
        figures_of(RankedList(), frozenset(), cutoffs=(10, 0))


def test_every_measure_has_a_definition() -> None:
    names = figures_of(RankedList(), frozenset(), cutoffs=(5,))
    # A measure without k is the same measure over the whole list.
    general = {name.replace("@5", "@k") if "@" in name else name.replace(" ", "@k ", 1) for name in names}
    assert general - {*DEFINITIONS, "AP", "nDCG", "MRR"} == set()
