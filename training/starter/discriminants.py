"""Linear discriminants of features: the start of the visual metric."""

from __future__ import annotations

from typing import Final

import numpy as np

from data.arrays import FloatArray, IntArray, as_unit_rows

SHRINKAGE: Final = 0.6
"""Of the within-species covariance; .3 and .9 are a point of MRR@10 worse."""


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
