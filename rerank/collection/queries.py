"""Queries that an encoder cannot turn into a direction to search in."""

from __future__ import annotations

import numpy as np

from data.contracts import TextImageEncoder
from data.errors import UsageError
from data.records import Job
from rerank.queries import query_of
from rerank.visible_words import is_visible, nothing_seen


def check_visible(job: Job, encoder: TextImageEncoder) -> None:
    """Refuse words that the encoder cannot compare with photos: the ranking would mean nothing.

    Raises:
        BadInput: if the job has neither words nor a reference photo.
        NoEvidence: if no word can be seen in a photo.
    """
    if job.reference_image is not None and not (job.modification or job.text).strip():
        return
    text = query_of(job).text
    if not is_visible(text, encoder) or not np.any(encoder.encode_texts([text])):
        raise nothing_seen(job, encoder)


def check_length(job: Job, encoder: TextImageEncoder) -> None:
    """Refuse a text that the encoder would cut off.

    Raises:
        UsageError: if the text has more tokens than the encoder reads.
    """
    if encoder.max_tokens is None or job.dialogue or not (job.modification or job.text).strip():
        return
    n = encoder.count_tokens(query_of(job).text)
    if n > encoder.max_tokens:
        raise UsageError(
            f"The query has {n:,} tokens; the encoder {encoder.name} reads {encoder.max_tokens:,}.", hint="Shorten it."
        )
