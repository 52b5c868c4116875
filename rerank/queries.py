"""Queries: a text, a reference image with a change (composed), or a dialogue (chat); and what encoders see of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from data.contracts import SeesWords, TextEncoder, TextImageEncoder
from data.errors import BadImage, BadInput, NoEvidence, UsageError
from data.records import ChatMessage, Job

Task = Literal["text", "composed", "chat"]

REFERENCE_LABEL: Final = "Reference photo, which is not one of the photos to judge:"
PHOTO_LABEL: Final = "Photo to judge:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The query of a job."""

    task: Task
    text: str
    """Its words alone, for encoders and look-ups: the text, the change, or the turns of the dialogue."""
    described: str
    """Its words as prompts put them between quotes."""
    turns: tuple[str, ...] = ()
    """The turns of a dialogue."""
    reference: bytes = b""
    """The reference photo as a JPEG, where a model is shown it."""

    def shown(self) -> tuple[ChatMessage, ...]:
        """Return the message with the reference photo, if there is one."""
        return (ChatMessage(role="user", text=REFERENCE_LABEL, images=(self.reference,)),) if self.reference else ()


def query_of(job: Job) -> Query:
    """Return the query of a job, without its reference photo.

    A composed query is the reference image with `modification`, or `text` without one. The turns of a dialogue are
    joined by commas, as in the code of ChatIR (Levy et al., 2023); a `text` goes before them.

    Raises:
        BadInput: if there are no words, or the parts do not fit together.
    """
    text, change = job.text.strip(), (job.modification or "").strip()
    turns = [text, *(turn.strip() for turn in job.dialogue or ())] if text else [*(job.dialogue or ())]
    if job.reference_image is not None and job.dialogue:
        raise BadInput(f"Job {job.query_id} has a reference image and a dialogue; expected one of them.")
    if change and job.reference_image is None:
        raise BadInput(f"Job {job.query_id} has a modification, but no reference image.")
    if not change and not any(turn.strip() for turn in turns):
        raise BadInput(f"Job {job.query_id} has no text.")
    if job.reference_image is not None:
        change = change or text
        described = f"what the reference photo shows, with this change: {change}"
        return Query(task="composed", text=change, described=described)
    if job.dialogue:
        turns = [turn for turn in turns if turn.strip()]
        described = f"what this dialogue describes: {' / '.join(turns)}"
        return Query(task="chat", text=", ".join(turns), described=described, turns=tuple(turns))
    return Query(task="text", text=job.text, described=job.text)


@contextmanager
def reading_reference(job: Job) -> Iterator[None]:
    """Name the reference image in the error if it cannot be read."""
    try:
        yield
    except BadImage as error:
        raise BadImage(f"Job {job.query_id}: reference image {job.reference_image}: {error}") from error


def check_decompose(query: Query, *, sees_photos: bool, by_rule: bool) -> None:
    """Refuse a query that decompose cannot judge.

    Raises:
        UsageError: for a composed query without a model that sees the reference photo, and for a composed query or a
            dialogue that a rule would divide.
    """
    if query.task == "composed" and not sees_photos:
        raise UsageError(
            "The encoder judge cannot compare a photo with a reference image.",
            hint="Use --judge vision, or --method similarity.",
        )
    if query.task != "text" and by_rule:
        kind = "a change to a reference image" if query.task == "composed" else "a dialogue"
        raise UsageError(
            f"The rule that writes questions cannot divide {kind}.",
            hint="Use --set decompose.questions_by=model with [llm.text], --set decompose.direct=true, or "
            "--method similarity.",
        )


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
    if not is_visible(text, encoder) or not encoder.encode_texts([text]).any():
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
