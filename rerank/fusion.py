"""Fusion of the rankings by several drawings of one query."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from rerank.settings import DrawingFusion

Scores = NDArray[np.float64]

PAPER_DAMPING: Final = 1.0  # VisRet, appendix B; the default of the authors' code is 0, that of Cormack et al. 60
N_DIGITS: Final = 12  # sums of equal terms in another order must tie


def ranks_of(similarities: Scores) -> IntArray:
    """Return the rank of each image for each drawing, from 1; ties in the order of the images.

    Args:
        similarities: `(m, n)`, higher is better; the images in first-stage order, or in that of their collection.
    """
    order = np.argsort(-similarities, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, similarities.shape[1] + 1)[None, :], axis=1)
    return ranks


def fuse(
    similarities: Scores,
    *,
    fusion: DrawingFusion = "reciprocal-rank",
    damping: float = PAPER_DAMPING,
    text: Scores | None = None,
) -> Scores:
    """Return the `(n,)` fused scores of images, higher is better.

    Args:
        similarities: `(m, n)`, of each drawing to each image.
        fusion: `reciprocal-rank`: sum over the drawings of 1 / (damping + rank). `mean-similarity`: mean over the
            drawings, which is in the authors' code only. `with-text`, ours: the mean reciprocal rank over the drawings
            plus that by the text, so that all drawings together weigh as much as the text.
        damping: the paper's lambda.
        text: `(n,)` similarities of the query's text, for `with-text`.

    Source:
        VisRet (Wu et al., 2025), section 3.2 and appendix B: reciprocal rank fusion with lambda = 1. Differs: images
        equally similar to a drawing, and images of equal scores, keep first-stage order (in the authors' code, the
        later image goes first).
    """
    if fusion == "mean-similarity":
        scores: Scores = np.asarray(np.mean(similarities.astype(np.float64), axis=0))
    elif fusion == "reciprocal-rank":
        scores = np.sum(1.0 / (damping + ranks_of(similarities)), axis=0)
    else:
        assert text is not None
        drawn = np.mean(1.0 / (damping + ranks_of(similarities)), axis=0)
        scores = drawn + 1.0 / (damping + ranks_of(text[None, :])[0])
    fused: Scores = np.round(scores, N_DIGITS)
    return fused
