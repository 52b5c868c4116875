"""Training of the visual metric and of one prototype per species.

The metric starts as linear discriminants of the trunk's features. Then metric and prototypes are trained to classify
photos by species.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from data.arrays import FloatArray, IntArray, as_unit_rows

log = logging.getLogger(__name__)

SHRINKAGE = 0.6  # of the within-species covariance; .3 and .9 are a point of MRR@10 worse
TEMPERATURE = 16.0  # of the cosine softmax; 10 is half a point worse
SMOOTHING = 0.1
DROPOUT = 0.1
BATCH = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A trained metric and prototypes; arrays as in `Heads`."""

    mean: FloatArray
    matrix: FloatArray
    prototypes: FloatArray
    species: tuple[str, ...]

    def encode(self, features: FloatArray) -> FloatArray:
        """Return the unit rows of features."""
        return as_unit_rows((as_unit_rows(features) - self.mean) @ self.matrix)


def fit_discriminants(features: FloatArray, species: IntArray, dim: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the `(n_features, dim)` matrix that whitens the within-species scatter, widest spread first.

    Args:
        features: `(n_views, n_photos, n_features)`.
        species: `(n_photos,)`; each species has the same weight.
        dim: number of discriminants.

    Source: Fisher's linear discriminants, with the within-species covariance shrunk towards a multiple of the identity.
    """
    n_views = len(features)
    rows = as_unit_rows(features.reshape(-1, features.shape[-1]))
    _, classes = np.unique(species, return_inverse=True)
    classes = np.tile(classes, n_views)
    mean = rows.mean(axis=0)
    rows -= mean
    counts = np.bincount(classes)
    centres = np.zeros((len(counts), rows.shape[1]), dtype=np.float32)
    np.add.at(centres, classes, rows)
    centres /= counts[:, None].astype(np.float32)
    within = (rows - centres[classes]) / np.sqrt(counts)[classes, None]
    scatter = within.T @ within / len(counts)
    scatter = (1 - SHRINKAGE) * scatter + SHRINKAGE * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    variances, axes = np.linalg.eigh(scatter)
    whitening = axes / np.sqrt(variances)
    between = whitening.T @ (centres.T @ centres / len(counts)) @ whitening
    spread, directions = np.linalg.eigh(between)
    matrix = whitening @ directions[:, np.argsort(-spread)[:dim]]
    return mean.astype(np.float32), matrix.astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Metric and prototypes as initialised by the discriminants, and the training targets."""

    species: tuple[str, ...]
    targets: torch.Tensor
    chances: NDArray[np.float64]
    """Sampling probability of each photo; photos of rare species are drawn more often."""
    offset: torch.Tensor
    metric: nn.Parameter
    prototypes: nn.Parameter

    @classmethod
    def of(cls, frozen: FloatArray, names: Sequence[str], photos: IntArray, dim: int) -> _Start:
        species, classes = np.unique(np.array(names)[photos], return_inverse=True)
        mean, matrix = fit_discriminants(frozen[:, photos], classes, dim)
        projected = (as_unit_rows(frozen[0, photos]) - mean) @ matrix
        centres = np.zeros((len(species), dim), dtype=np.float32)
        np.add.at(centres, classes, as_unit_rows(projected))
        chances = 1 / np.sqrt(np.bincount(classes)[classes])
        scale = np.linalg.norm(projected, axis=1).mean()
        return cls(
            species=tuple(str(name) for name in species),
            targets=torch.from_numpy(classes),
            chances=chances / chances.sum(),
            offset=torch.from_numpy(mean),
            metric=nn.Parameter(torch.from_numpy((matrix / scale).astype(np.float32))),
            prototypes=nn.Parameter(torch.from_numpy(as_unit_rows(centres))),
        )

    def loss(self, centred: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Return the cross entropy of the species of centred unit features."""
        rows = functional.normalize(centred @ self.metric, dim=1)
        logits = TEMPERATURE * rows @ functional.normalize(self.prototypes, dim=1).T
        return functional.cross_entropy(logits, wanted, label_smoothing=SMOOTHING)

    def look(self) -> Look:
        return Look(
            mean=self.offset.numpy(),
            matrix=self.metric.detach().numpy(),
            prototypes=as_unit_rows(self.prototypes.detach().numpy()),
            species=self.species,
        )


def train_look(frozen: FloatArray, names: Sequence[str], photos: IntArray, *, dim: int, epochs: int = 10) -> Look:
    """Return the metric and prototypes trained on the features of the frozen trunk.

    Args:
        frozen: `(n_views, n_photos, 1280)`.
        names: species of every photo.
        photos: training photos.
        dim: dimension of the metric.
        epochs: number of passes over the photos.
    """
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    start = _Start.of(frozen, names, photos, dim)
    inputs = torch.from_numpy(np.stack([as_unit_rows(view[photos]) for view in frozen])) - start.offset
    optimiser = torch.optim.AdamW([start.metric, start.prototypes], lr=1e-3, weight_decay=0.05)
    n_steps = max(1, len(photos) // BATCH) * epochs
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=n_steps, pct_start=0.1)
    for _ in range(n_steps):
        picked = rng.choice(len(photos), BATCH, p=start.chances)
        views = rng.integers(0, len(frozen), BATCH)
        loss = start.loss(functional.dropout(inputs[views, picked], DROPOUT), start.targets[picked])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    log.info("look: loss %.3f", loss.item())
    return start.look()
