"""BM25 against tables worked by hand, and its tokens."""

from __future__ import annotations

import pytest

from kb.lookup.bm25 import BM25, tokens


def test_bm25_agrees_with_a_hand_worked_table() -> None:
    index = BM25([["red", "crest"], ["red", "red"], ["black", "face"]])
    # idf(red) = ln(1 + 1.5/2.5) = 0.4700, all lengths are the mean, so tf 1 gives 2.2/2.2 = 1 and tf 2 4.4/3.2 = 1.375;
    # the most that the query can reach is 0.47 * 2.2.
    assert index.scores(["red"]) == pytest.approx([1 / 2.2, 1.375 / 2.2, 0.0], abs=1e-5)
    assert index.coverage(["red", "crest"]) == pytest.approx([1.0, 0.5, 0.0])


def test_bm25_of_nothing_is_empty_and_unknown_words_score_zero() -> None:
    assert BM25([]).scores(["red"]).shape == (0,)
    assert BM25([["red"], []]).scores(["blue"]).tolist() == [0.0, 0.0]
    assert BM25([["red"]]).scores([]).tolist() == [0.0]


def test_tokens_know_plurals_participles_and_both_spellings() -> None:
    assert tokens("Gray-barred birds' flies") == tokens("grey bars bird fly")
