"""Words of a query that an encoder can compare with photos."""

from __future__ import annotations

from data.contracts import SeesWords, TextImageEncoder
from data.errors import NoEvidence
from data.records import Job
from rerank.queries import query_of


def is_visible(text: str, encoder: TextImageEncoder) -> bool:
    """Return whether the encoder can compare a word of a text with photos, as far as it tells."""
    return not isinstance(encoder, SeesWords) or bool(encoder.visible_words(text))


def nothing_seen(job: Job, encoder: TextImageEncoder) -> NoEvidence:
    """Return the error for a query of which an encoder sees nothing in photos."""
    alone = " Without the words, the photo alone is the query." if job.reference_image is not None else ""
    return NoEvidence(
        f"The encoder {encoder.name} can see nothing of {_shortened(query_of(job).text)!r} in a photo.",
        hint=f"Describe looks: colours, patterns and parts of the body, in English. Other encoders, such as "
        f"that of the profile paper, see more.{alone}",
    )


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
