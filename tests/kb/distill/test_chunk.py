"""Chunks of summaries are complete and within the limits of all encoders."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from data.records import Statement, Summary
from kb.distill.chunk import pack_chunks
from tests.memory_store import BagOfWords


def summary_of(*sentences: str) -> Summary:
    return Summary(statements=tuple(Statement(text=sentence) for sentence in sentences))


def test_whole_sentences_are_packed_up_to_the_smallest_token_limit() -> None:
    summary = summary_of("The crown is red.", "The bill is black.", "The tail is long.")
    texts = [
        chunk.text for chunk in pack_chunks(summary, "a-b", [BagOfWords(max_tokens=77), BagOfWords(max_tokens=12)])
    ]
    assert texts == ["The crown is red. The bill is black.", "The tail is long."]


def test_encoders_without_a_limit_give_one_chunk() -> None:
    summary = summary_of("The crown is red.", "The bill is black.")
    assert [chunk.text for chunk in pack_chunks(summary, "a-b", [BagOfWords()])] == [summary.text]
    assert [chunk.text for chunk in pack_chunks(summary, "a-b", [])] == [summary.text]


def test_a_long_sentence_is_split_at_clauses() -> None:
    summary = summary_of("The crown is red, the nape and mantle are grey; the bill is black.")
    texts = [chunk.text for chunk in pack_chunks(summary, "a-b", [BagOfWords(max_tokens=10)])]
    assert texts == ["The crown is red,", "the nape and mantle are grey;", "the bill is black."]


def test_an_overlong_word_is_split() -> None:
    class Letters(BagOfWords):
        def count_tokens(self, text: str) -> int:
            return len(text)

    chunks = pack_chunks(summary_of("x" * 25 + " end."), "a-b", [Letters(max_tokens=10)])
    assert "".join(chunk.text for chunk in chunks) == "x" * 25 + "end."
    assert max(len(chunk.text) for chunk in chunks) <= 10


def test_chunk_ids_depend_on_subject_text_and_span() -> None:
    summary = summary_of("The crown is red.", "The bill is black.")
    first, second = pack_chunks(summary, "a-b", [BagOfWords(max_tokens=8)])
    assert first.chunk_id != second.chunk_id
    assert [c.chunk_id for c in pack_chunks(summary, "a-b", [BagOfWords(max_tokens=8)])] == [
        first.chunk_id,
        second.chunk_id,
    ]
    assert pack_chunks(summary, "c-d", [BagOfWords(max_tokens=8)])[0].chunk_id != first.chunk_id
    assert (
        pack_chunks(summary_of("The crown is red.", "The bill is dark."), "a-b", [BagOfWords(max_tokens=8)])[0].chunk_id
        != first.chunk_id
    )


def test_an_empty_summary_has_no_chunks() -> None:
    assert pack_chunks(Summary(statements=()), "a-b", [BagOfWords(max_tokens=8)]) == []


@given(
    st.lists(st.text(alphabet="ab ,;.–\n", max_size=60), max_size=6),
    st.integers(min_value=3, max_value=12),
)
def test_chunks_are_ordered_within_the_limit_and_complete(sentences: list[str], limit: int) -> None:
    summary = summary_of(*sentences)
    encoder = BagOfWords(max_tokens=limit)
    position = 0
    for chunk in pack_chunks(summary, "a-b", [encoder]):
        assert summary.text[chunk.start : chunk.end] == chunk.text
        assert summary.text[position : chunk.start].strip() == ""
        assert encoder.count_tokens(chunk.text) <= limit
        position = chunk.end
    assert summary.text[position:].strip() == ""


def test_packing_time_is_linear_in_length() -> None:
    summary = summary_of(
        *["The crown is red and the bill is black, but not always."] * 3000, "x" * 100_000, "a, " * 30_000
    )
    begin = time.process_time()
    chunks = pack_chunks(summary, "a-b", [BagOfWords(max_tokens=64)])
    assert time.process_time() - begin < 40  # about 1 s
    assert len(chunks) > 700
