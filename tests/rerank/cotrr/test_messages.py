import time
from collections import Counter

import pytest

from data.errors import MalformedAnswer
from rerank.cotrr.messages import parse_ranking
from rerank.cotrr.reranker import input_orders, ranks_of

# Reply, photos, positions, faults.
RANKINGS = (
    ('{"ranking": [2, 3, 1]}', 3, (1, 2, 0), {}),
    ('{"ranking": [2, 2, 3, 1, 2]}', 3, (1, 2, 0), {"duplicates": 2}),
    ('{"ranking": [7, 2, 0, -1, 1, 3]}', 3, (1, 0, 2), {"invalid": 3}),
    ('{"ranking": [2]}', 3, (1,), {"missing": 2}),
    ('{"ranking": ["3", "[1]", "photo 2", 2.0]}', 3, (2, 0, 1), {"duplicates": 1}),
    ('{"ranking": [true, null, [1], 1.5, "three", 2]}', 2, (1,), {"invalid": 5, "missing": 1}),
    ('```json\n{"ranking": [2, 1]}\n```', 2, (1, 0), {"not_json": 1}),
    ('{"ranking": [2, 1]}, and once more: {"ranking": [2, 1]}', 2, (1, 0), {"not_json": 1}),
    ("[11] > [1] > [12]", 12, (10, 0, 11), {"not_json": 1, "missing": 9}),
    ("The best come first.\n3\n1\n2", 3, (2, 0, 1), {"not_json": 1}),
    ("\n\n- 3 \n\n  * 1\n\n2\n\n", 3, (2, 0, 1), {"not_json": 1}),
    ("3, 1, 2", 3, (2, 0, 1), {"not_json": 1}),
    ("11, 1, 12", 12, (10, 0, 11), {"not_json": 1, "missing": 9}),
    ("[3, 1, 2]", 3, (2, 0, 1), {"not_json": 1}),
)
NO_RANKINGS = (
    "", "I cannot rank these.", '{"ranking": []}', '{"ranking": "none"}', '{"order": [1]}', '{"ranking": [9, 8]}',
    "Of the 3 photos none fits.", "3, the heron, is a fine bird", "null", '{"ranking": [1, 2',
    'First {"ranking": [3, 1]}, then {"ranking": [2, 1]}', '{"comparison": "", "ranking": [1]}{"ranking": [2]}',
    '{"ranking": [\n3,\n1\n]}\n{"ranking": [\n2,\n1\n]}',
    "First [1] > [2] > [3], then [3] > [2] > [1]", "[1] > [2]\n[2] > [1]",
)  # fmt: skip


def test_a_ranking_is_parsed_and_its_repairs_are_counted() -> None:
    for text, n, positions, faults in RANKINGS:
        ranking = parse_ranking(text, n)
        assert (ranking.positions, ranking.faults) == (positions, Counter(faults)), text
    some = parse_ranking('{"ranking": [5, 2]}', 10, n_wanted=3)
    assert (some.positions, some.faults["missing"]) == ((4, 1), 1), "only wanted places are missing"


def test_a_reply_without_a_ranking_is_refused() -> None:
    for text in NO_RANKINGS:
        with pytest.raises(MalformedAnswer, match="expected a"):
            parse_ranking(text, 3)
            pytest.fail(text)


def test_a_reply_of_empty_lines_takes_no_time() -> None:
    """A model that repeats itself holds up no other query."""
    began = time.process_time()
    with pytest.raises(MalformedAnswer, match="expected a"):
        parse_ranking("\n" * 1_500 + "none", 3)
    assert time.process_time() - began < 2


def test_orders_come_in_pairs_and_unnamed_photos_share_a_rank() -> None:
    shown = input_orders(4, 3, seed="q")
    assert shown[:2] == [[0, 1, 2, 3], [3, 2, 1, 0]] and sorted(shown[2]) == shown[0] != shown[2]
    assert shown == input_orders(4, 3, seed="q") and shown[2] != input_orders(4, 3, seed="r")[2]
    assert ranks_of([2, 0], 4) == [2.0, 3.5, 1.0, 3.5]
