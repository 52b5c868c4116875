"""Calibration of one knowledge base from labelled photos."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from data.contracts import Encoders, KnowledgeStore
from data.errors import BadInput
from data.records import vocabulary_hash
from data.words import plural
from recognize.calibration.cases import Identifier, OnProgress, spread
from recognize.calibration.parameters import Quality, fit_parameters, measure_quality
from recognize.calibration.sources import LabelledSource
from recognize.confidence.calibration import Calibration, shipped_calibration
from recognize.confidence.evidence import mode_of
from recognize.scoring.fusion import WEIGHTS, anchor_mode
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.presets import Settings, check_contents, check_preset

LEAST_PHOTOS: Final = 60
LEAST_SPECIES: Final = 10
MOST_PHOTOS: Final = 2_000
"""Photos used, spread over the species: more change nothing but the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCalibration:
    """A calibration and its quality."""

    calibration: Calibration
    quality: Quality


def calibrate(
    store: KnowledgeStore, encoders: Encoders, knowledge: Knowledge, source: LabelledSource, *, preset: str = "default",
    on_progress: OnProgress = lambda *_: None,
) -> OwnCalibration:  # fmt: skip
    """Return a calibration of a knowledge base for a preset with its default settings.

    Raises:
        BadInput: if there are too few photos or species.
        UsageError: if the knowledge base lacks what the preset needs.
    """
    settings = Settings(profile=encoders.profile)
    check_preset(preset, settings)
    check_contents(preset, knowledge, store.path)
    photos = source.photos.only(spread(source.photos.species, MOST_PHOTOS))
    n_species = len(np.unique(photos.species))
    check_enough(len(photos), n_species, noun=source.kind)
    weights = WEIGHTS[encoders.profile][anchor_mode(knowledge)] if preset == "default" else None
    mode = mode_of(knowledge)
    shipped, base = shipped_calibration(), None
    if not shipped.misfit(
        profile=encoders.profile, preset=preset, spaces=encoders.spaces, taxon_ids=store.taxon_ids, mode=mode,
        weights=weights,
    ):  # fmt: skip
        base = shipped.parameters[preset][mode]
    taxa = [entry.taxon for entry in store.species(store.taxon_ids)]
    identifier = Identifier(
        preset, replace(settings, weights=weights), knowledge, photos, taxa, on_progress=on_progress
    )
    temperature = identifier.fit_temperature() if base is None else base.temperature
    cases = identifier.cases(temperature)
    quality = measure_quality(cases, base, temperature=temperature, weights=weights)
    calibration = Calibration(
        kind="own",
        profile=encoders.profile,
        spaces=encoders.spaces,
        parameters={preset: {mode: fit_parameters(cases, base, temperature=temperature, weights=weights)}},
        vocabulary=vocabulary_hash(store.taxon_ids),
        fitted_on=(
            f"{plural(len(photos), source.kind)} of {plural(n_species, 'species', 'species')}, "
            f"calibration error {quality.calibrated.calibration_error:.3f}"
        ),
    )
    return OwnCalibration(calibration=calibration, quality=quality)


def check_enough(n_photos: int, n_species: int, *, noun: str) -> None:
    """Raise `BadInput` if there are too few photos or species for a calibration."""
    if n_photos < LEAST_PHOTOS or n_species < LEAST_SPECIES:
        found = f"{plural(n_photos, noun)} of {plural(n_species, 'species', 'species')}"
        raise BadInput(
            f"Too few photos for a calibration: {found}. Expected at least {LEAST_PHOTOS} photos of "
            f"{LEAST_SPECIES} species.",
            hint="Add labelled photos of species in the knowledge base with --photos, or build it with more reference "
            "photos per species (--set anchors_per_species=6).",
        )
