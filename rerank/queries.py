"""Queries by task: a text, a reference image with a change (composed), or a dialogue (chat)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from data.errors import BadImage, BadInput, UsageError
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
