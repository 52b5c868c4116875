"""Words of a query that an encoder can compare with photos, and queries that it cannot."""

from __future__ import annotations

import numpy as np

from data.contracts import SeesWords, TextEncoder, TextImageEncoder
from data.errors import NoEvidence, UsageError
from data.records import Job
from rerank.queries import query_of


def is_visible(text: str, encoder: TextEncoder) -> bool:
    """Return whether the encoder can compare a word of a text with photos, as far as it tells."""
    return not isinstance(encoder, SeesWords) or bool(encoder.visible_words(text))


def nothing_seen(job: Job, encoder: TextImageEncoder) -> NoEvidence:
    """Return the error for a query of which an encoder sees nothing in photos."""
    alone = " Without the words, the photo alone is the query." if job.reference_image is not None else ""
    text = query_of(job).text
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return NoEvidence(
        f"The encoder {encoder.name} can see nothing of {shown!r} in a photo.",
        hint=f"Describe looks: colours, patterns and parts of the body, in English. Other encoders, such as "
        f"that of the profile paper, see more.{alone}",
    )


def check_visible(job: Job, encoder: TextImageEncoder) -> None:
    """Refuse words that the encoder cannot compare with photos: the ranking would mean nothing."""
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
