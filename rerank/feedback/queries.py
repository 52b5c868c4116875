"""Queries that grow by captions: joined texts, the sample to caption, limits of length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from data.contracts import TextEncoder
from data.files import sha256_hex
from rerank.feedback.session import Session
from rerank.visible_words import is_visible

_ENDS: Final = (".", "!", "?", ",", ";", ":")


def joined(texts: Sequence[str]) -> str:
    """Return the texts one after the other; a text without a final punctuation mark gets a full stop before the next.

    Source: Zhu et al. (ICMR 2024), equation 1, which does not name the separator.
    """
    kept = [" ".join(text.split()) for text in texts if text.strip()]
    return " ".join([*(text if text.endswith(_ENDS) else f"{text}." for text in kept[:-1]), *kept[-1:]])


def blind_note(text: str, encoder: TextEncoder) -> str | None:
    """Return a warning about a text without any word that the encoder can compare with photos, else None.

    It is no error: the photos that are marked improve the search, and a long description may name another animal.
    """
    if is_visible(text, encoder):
        return None
    return f"the encoder {encoder.name} can see little of these words in photos, so the order means little"


def original_and_captions(session: Session) -> tuple[str, list[str]]:
    """Return the query that the user wrote last, and the captions since then: an edited query contains earlier ones."""
    edited = [number for number, turn in enumerate(session.turns) if turn.is_edited]
    first = edited[-1] if edited else 0
    query = session.turns[first].query if edited else session.query
    return query, [caption.text for turn in session.turns[first:] for caption in turn.captions if caption.text]


def sampled(session: Session, number: int) -> tuple[str, ...]:
    """Return the relevant images of a turn that are captioned, in the order shown.

    At most `settings.captioned`, chosen at random. The choice depends on seed, query and turn only, not on the method,
    so all methods that see the same images caption the same ones.
    """
    relevant = session.turns[number].relevant or ()
    n = min(session.settings.captioned, len(relevant))
    entropy = [session.settings.seed, number, int(sha256_hex(session.query)[:8], 16)]
    chosen = np.random.default_rng(entropy).choice(len(relevant), size=n, replace=False) if n else ()
    return tuple(relevant[i] for i in sorted(int(i) for i in chosen))


def cut(text: str, limit: int, encoder: TextEncoder) -> tuple[str, str]:
    """Return the longest beginning of whole words with at most `limit` tokens, and the rest.

    A first word beyond the limit, such as a sentence in Chinese, is split: at least one character is kept.
    """
    words = text.split()
    if encoder.count_tokens(text) <= limit:
        return text, ""
    n = bisect_right(range(1, len(words) + 1), limit, key=lambda n: encoder.count_tokens(" ".join(words[:n])))
    if n:
        return " ".join(words[:n]), " ".join(words[n:])
    word = words[0]
    n = max(1, bisect_right(range(1, len(word) + 1), limit, key=lambda n: encoder.count_tokens(word[:n])))
    return word[:n], " ".join([word[n:], *words[1:]]).strip()


def encode_query(text: str, limit: int | None, encoder: TextEncoder) -> tuple[FloatArray, int]:
    """Return the `(dim,)` unit vector of a query, zero if no word is known, and the number of words left out.

    With a limit (the paper's) the query is cut off there, or where the encoder stops reading. Without one, a query
    longer than the encoder reads is the mean of the vectors of its pieces, so that no word is lost.
    """
    if limit is not None:
        kept, rest = cut(text, min(limit, encoder.max_tokens or limit), encoder)
        vector: FloatArray = encoder.encode_texts([kept])[0]
        return vector, len(rest.split())
    pieces = [text]
    while encoder.max_tokens is not None and pieces[-1]:
        pieces[-1:] = cut(pieces[-1], encoder.max_tokens, encoder)
    vectors = encoder.encode_texts([piece for piece in pieces if piece])
    mean: FloatArray = vectors[0] if len(vectors) == 1 else as_unit_rows([np.sum(vectors, axis=0)])[0]
    return mean, 0
