"""Fitting of the weights of the default preset: a conditional logit over the species of a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import FusionWeights

N_WEIGHTS: Final = 6
_RIDGE: Final = 1e-3  # keeps weights finite without data
_ROUNDS: Final = 25
_BLOCK: Final = 64
_ALIKE: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Stage scores of labelled photos."""

    stages: FloatArray
    """`(n_photos, n_species, N_WEIGHTS)`, from `stage_scores`."""
    truth: IntArray
    """`(n_photos,)`."""
    share: float
    """Weight of the whole sample."""


def stage_scores(knowledge: Knowledge, queries: Queries) -> FloatArray:
    """Return the factor of each weight of `FusionWeights`, `(n_photos, n_species, N_WEIGHTS)`.

    The same numbers as the default preset's, for all species and in float32.
    """
    n, n_species = len(queries), knowledge.n_species
    is_known = np.zeros(n_species, dtype=bool)
    is_known[knowledge.trained] = True
    out = np.zeros((n, n_species, N_WEIGHTS), dtype=np.float32)
    text = np.full((n, n_species), -np.inf)
    rows = [q @ table.vectors.T for q, table in zip(queries.text_image, knowledge.chunks, strict=True)]
    chunk_scores = np.mean(rows, axis=0)
    for photo in range(n):
        np.maximum.at(text[photo], knowledge.chunk_owners, chunk_scores[photo])
    joined = np.concatenate(queries.text_image, axis=1).astype(np.float64) / len(queries.text_image)
    text_scaled = _scaled(text, joined @ knowledge.chunk_sample.T)
    text_scaled[:, knowledge.chunk_counts == 0] = 0
    lengths = knowledge.anchor_lengths
    looks = queries.visual @ knowledge.mean_anchors().T / np.where(lengths > 0, lengths, 1)
    look_scaled = _scaled(looks, queries.visual.astype(np.float64) @ knowledge.anchor_sample.T)
    look_scaled[:, knowledge.anchor_counts == 0] = 0
    out[:, is_known, 0] = text_scaled[:, is_known]
    out[:, is_known, 1] = look_scaled[:, is_known]
    if len(knowledge.trained):
        scores = queries.visual @ knowledge.prototypes.T
        out[:, knowledge.trained, 2] = _scaled(scores, queries.visual.astype(np.float64) @ knowledge.prototype_sample.T)
    out[:, ~is_known, 3] = text_scaled[:, ~is_known]
    out[:, ~is_known, 4] = look_scaled[:, ~is_known]
    out[:, ~is_known, 5] = 1
    return out


def _scaled(scores: NDArray[np.floating], sample: NDArray[np.float64]) -> NDArray[np.float64]:
    deviation = sample.std(axis=1, keepdims=True)
    scaled = (scores - sample.mean(axis=1, keepdims=True)) / np.where(deviation < _ALIKE, np.inf, deviation)
    finite: NDArray[np.float64] = np.nan_to_num(scaled, neginf=0.0)
    return finite


def fit_weights(samples: Sequence[Sample]) -> NDArray[np.float64]:
    """Return the maximum-likelihood weights, by Newton's method; the maximum is unique."""
    weights = np.zeros(N_WEIGHTS)
    total = sum(sample.share for sample in samples)
    for _ in range(_ROUNDS):
        gradient, curvature = _RIDGE * weights, _RIDGE * np.eye(N_WEIGHTS)
        for sample in samples:
            scale = sample.share / total / len(sample.truth)
            for first in range(0, len(sample.truth), _BLOCK):
                stages = sample.stages[first : first + _BLOCK].astype(np.float64)
                truth = sample.truth[first : first + _BLOCK]
                chances = softmax(stages @ weights)
                mean = np.einsum("ns,nsw->nw", chances, stages)
                gradient += scale * (mean - stages[np.arange(len(truth)), truth]).sum(axis=0)
                curvature += scale * (
                    np.einsum("ns,nsw,nsv->wv", chances, stages, stages, optimize=True) - mean.T @ mean
                )
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-9))
        if np.abs(step).max() < 1e-6:
            break
    return weights


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return chances along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    chances: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return chances


def calibration_error(confidence: NDArray[np.float64], is_right: NDArray[np.bool_], n_bins: int = 10) -> float:
    """Return the expected calibration error: the mean gap of confidence and accuracy over bins of equal counts.

    Source: Naeini et al., AAAI 2015, with equal-count bins.
    """
    bins = np.array_split(np.argsort(confidence, kind="stable"), n_bins)
    gaps = [len(b) * abs(confidence[b].mean() - is_right[b].mean()) for b in bins if len(b)]
    return float(sum(gaps) / len(confidence))


def as_fusion_weights(weights: NDArray[np.float64]) -> FusionWeights:
    """Return fitted numbers as weights of the default preset."""
    trained_text, trained_visual, prototype, text, visual, new_species = (float(weight) for weight in weights)
    return FusionWeights(
        text=text,
        visual=visual,
        new_species=new_species,
        prototype=prototype,
        trained_text=trained_text,
        trained_visual=trained_visual,
    )
