"""The methods by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from data.contracts import TextImageEncoder
from data.errors import ConfigError, UsageError
from data.records import Job, RankedImage

METHODS: Final = ("similarity",)
"""The methods that there are."""


def rerank(
    job: Job, method: str = "similarity", *, encoder: TextImageEncoder | None = None, root: str | Path = "."
) -> list[RankedImage]:
    """Return all images of the job in the order of a method, best first, ties in first-stage order.

    Args:
        job: a query and the images that a first stage found for it.
        method: one of `METHODS`.
        encoder: the text-image space of the method `similarity`.
        root: the folder that relative paths of the job start from.

    Raises:
        ConfigError: if there is no such method; the message lists those there are.
        UsageError: if the method lacks what it needs.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from data.records import Job, JobImage
        >>> from recognize import load_encoders
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (48, 48), "green").save(Path(folder) / "a.png")
        ...     image = JobImage(image_id="a", path="a.png", score=0.5)
        ...     job = Job(query_id="q", text="a green parrot", candidates=(image,))
        ...     rerank(job, encoder=load_encoders("starter").text_image[0], root=folder)[0].status
        'ok'
    """
    if method not in METHODS:
        raise ConfigError(f"there is no re-ranking method {method!r}", hint=f"one of: {', '.join(METHODS)}")
    if encoder is None:
        raise UsageError(f"the method {method} needs a text-image encoder")
    from rerank.similarity import SimilarityReranker

    return SimilarityReranker(encoder, root=root).rerank(job)
