"""Files of others that are JSON nested 100,000 levels deep: an error that names the file, from every reader."""

from pathlib import Path

import pytest

from data.errors import BadInput, MalformedAnswer, StoreError
from data.records import ChatReply
from kb.lookup.query_file import read_queries
from kb.lookup.writing import parse_reply
from recognize.confidence.calibration import read_calibration
from rerank.cotrr.rankings import parse_ranking_as_authors
from rerank.judges.judgements import stated
from rerank.query_set import read_query_set

DEEP = '{"sentences": ' + "[" * 100_000 + "]" * 100_000 + "}"


def test_a_deep_file_is_an_error_that_names_it_and_a_deep_reply_is_unusable(tmp_path: Path) -> None:
    for name, read, expected in (
        ("queries.json", read_query_set, BadInput), ("jobs.jsonl", read_queries, BadInput),
        ("default.json", read_calibration, StoreError),
    ):  # fmt: skip
        (tmp_path / name).write_text(DEEP + "\n")
        with pytest.raises(expected, match=name.partition(".")[0]):
            read(tmp_path / name)  # type: ignore[operator]
    with pytest.raises(MalformedAnswer):
        parse_reply(DEEP)
    with pytest.raises(MalformedAnswer):
        parse_ranking_as_authors(DEEP, 3)
    assert stated(ChatReply(text=DEEP, model="m")).probability is None
