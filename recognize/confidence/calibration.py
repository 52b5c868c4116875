"""Calibrations: fitted coefficients that turn evidence into chances, and their file.

The *shipped* calibration of a profile is estimated for any knowledge base; `kb calibrate` makes an *own* one for the
species and preset of one knowledge base.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import numpy as np

from data.codec import dumps, loads, to_json
from data.errors import StoreError
from data.files import sha256_hex
from data.foreign_json import load_json
from data.records import vocabulary_hash
from recognize.confidence.evidence import FEATURES, Mode
from recognize.confidence.fit import logistic
from recognize.confidence.ranks import JudgedRank
from recognize.scoring.fusion import FusionWeights
from recognize.scoring.pairs import Scores

SCHEMA: Final = 2
SHIPPED: Final = Path(__file__).resolve().parents[1] / "starter" / "weights" / "calibration.json"
"""File of the shipped calibration."""

ESTIMATED: Final = "estimated-"
"""Start of the id of the shipped calibration."""

Coefficients = Mapping[str, float]
"""Feature -> coefficient of a logistic function; 0 for a missing feature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Fitted parameters of one preset and anchor mode."""

    temperature: float
    """Divisor of the scores before the softmax."""
    held: Mapping[JudgedRank, Coefficients]
    """Chance that the first species, its genus, family and order are right, if the species is in the knowledge base. A
    missing rank is as likely as the next lower one."""
    not_held: Mapping[JudgedRank, Coefficients] = field(default_factory=dict)
    """Chance that its genus, family and order are right, if the species is not; 0 for a missing rank."""
    unknown: Coefficients
    """Chance that the species is not in the knowledge base, fitted with equally many photos of both kinds."""
    weights: FusionWeights | None = None
    """Weights of the preset at fitting time, if it has any."""

    def __post_init__(self) -> None:
        for model in (*self.held.values(), *self.not_held.values(), self.unknown):
            if unknown := sorted(set(model) - set(FEATURES)):
                raise StoreError(f"expected coefficients of {', '.join(FEATURES)}, got {', '.join(unknown)}")
        if "species" not in self.held or "species" in self.not_held:
            raise StoreError("expected coefficients of the species where it is held, and only there")
        if not self.temperature > 0:
            raise StoreError(f"expected a temperature above 0, got {self.temperature}")


def chances_by(model: Coefficients, rows: Scores) -> Scores:
    """Return the logistic function of rows of features, `(n,)`."""
    vector = np.array([model.get(name, 0.0) for name in FEATURES])
    return logistic(np.einsum("nf,f->n", rows, vector))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibration of a profile, or of one knowledge base."""

    schema: int = SCHEMA
    kind: Literal["shipped", "own"] = "own"
    """Estimated for any knowledge base, or fitted to the species in `vocabulary`."""
    profile: str
    spaces: tuple[str, ...]
    parameters: Mapping[str, Mapping[Mode, Parameters]]
    """Preset -> anchor mode -> parameters."""
    vocabulary: str = ""
    """`vocabulary_hash` of the knowledge base of an own calibration."""
    fitted_on: str = ""
    """Description of the fitting data."""

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 of the contents, after `estimated-` for the shipped calibration."""
        return f"{ESTIMATED if self.kind == 'shipped' else ''}{sha256_hex(dumps(self))[:12]}"

    def misfit(
        self, *, profile: str, preset: str, spaces: Sequence[str], taxon_ids: Sequence[str], mode: Mode,
        weights: FusionWeights | None,
    ) -> str:  # fmt: skip
        """Return the reason that the calibration does not apply, a verb phrase; empty if it applies."""
        if (self.profile, self.spaces) != (profile, tuple(spaces)):
            return "was made with other models"
        if preset not in self.parameters:
            made_for = " and ".join(sorted(self.parameters))
            return f"was made for the preset {made_for}" if self.kind == "own" else f"has no preset {preset}"
        if self.kind == "own" and self.vocabulary != vocabulary_hash(taxon_ids):
            return "was made for other species than the knowledge base holds now"
        if mode not in self.parameters[preset]:
            amount = {"none": "no anchors", "single": "one anchor a species", "several": "several anchors a species"}
            return f"was not made for {amount[mode]}"
        if self.parameters[preset][mode].weights != weights:
            return "was made with other weights"
        return ""


def read_calibration(path: Path) -> Calibration:
    """Return the calibration in a file; raise `StoreError` if it is not one of this schema."""
    try:
        text = path.read_text(encoding="utf-8")
        found = load_json(text)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise StoreError(f"{path} is a calibration of schema {schema}, expected {SCHEMA}", hint=_HINT)
    try:
        return loads(Calibration, text)
    except StoreError as error:
        raise StoreError(f"{path}: {error}", hint=_HINT) from error


_HINT: Final = "Without this file, confidence is estimated; kb calibrate writes it again."


@lru_cache(maxsize=1)
def shipped_calibration() -> Calibration:
    """Return the calibration that ships with Fieldmark."""
    return read_calibration(SHIPPED)


def calibration_bytes(calibration: Calibration) -> bytes:
    """Return the contents of the file of a calibration."""
    return (json.dumps(to_json(calibration), indent=1, sort_keys=True) + "\n").encode()
