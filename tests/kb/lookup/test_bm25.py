"""BM25 scores against a hand-worked table, and its tokens."""

from __future__ import annotations

import pytest

from kb.lookup.bm25 import BM25, tokens


def test_scores_match_a_hand_worked_table() -> None:
    index = BM25([["red", "crest"], ["red", "red"], ["black", "face"]])
    # idf(red) = ln(1 + 1.5/2.5) = 0.4700, all lengths are the mean, so tf 1 gives 2.2/2.2 = 1 and tf 2 4.4/3.2 = 1.375;
    # the maximum for the query is 0.47 * 2.2.
    assert index.scores(["red"]) == pytest.approx([1 / 2.2, 1.375 / 2.2, 0.0], abs=1e-5)
    assert index.coverage(["red", "crest"]) == pytest.approx([1.0, 0.5, 0.0])


def test_an_empty_index_has_no_scores_and_unknown_words_score_zero() -> None:
    assert BM25([]).scores(["red"]).shape == (0,)
    assert BM25([["red"], []]).scores(["blue"]).tolist() == [0.0, 0.0]
    assert BM25([["red"]]).scores([]).tolist() == [0.0]


def test_tokens_unify_plurals_participles_and_spellings() -> None:
    assert tokens("Gray-barred birds' flies") == tokens("grey bars bird fly")
