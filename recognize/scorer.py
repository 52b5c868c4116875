"""Chances that photos show species named in a query, from the recognizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock

from data.contracts import KnowledgeStore
from data.errors import BadImage, MissingKnowledgeBase
from data.files import file_state
from recognize.recognizer import PhotoChances, Recognizer

_State = tuple[Path, object]


class RecognizerScorer:
    """Scores photos as showing species of a knowledge base; a `SpeciesScorer`.

    Descriptions, reference photos and prototypes count as in the preset of the recognizer, which is made for the first
    question. Each photo is recognised once for all questions; photos that threads ask for meanwhile are recognised
    together, which takes half the time.

    Args:
        store: the knowledge base.
        make: makes its recognizer.
        on_photo: gets the number of photos recognised so far.
    """

    def __init__(
        self, store: KnowledgeStore, make: Callable[[], Recognizer], *, on_photo: Callable[[int], None] = lambda _: None
    ) -> None:
        self._store, self._make, self._on_photo = store, make, on_photo
        self._position = {taxon_id: at for at, taxon_id in enumerate(store.taxon_ids)}
        self._found: dict[_State, PhotoChances] = {}
        self._waiting: dict[_State, None] = {}
        self._turn = RLock()

    @cached_property
    def _recognizer(self) -> Recognizer | None:
        """The recognizer; None if the knowledge base has no texts and no photos."""
        try:
            return self._make()
        except MissingKnowledgeBase:
            return None

    @cached_property
    def name(self) -> str:
        """The state of the knowledge base, and the calibration."""
        with self._turn:
            calibration = None if self._recognizer is None else self._recognizer.calibration_id
        return f"recognizer of {self._store.generation}, calibration {calibration}"

    @property
    def is_calibrated(self) -> bool:
        """Whether a calibration fits the knowledge base and its encoders."""
        with self._turn:
            return self._recognizer is not None and self._recognizer.calibration is not None

    def knows(self, taxon_id: str) -> bool:
        """Return whether the species has a description, a reference photo or a prototype."""
        with self._turn:
            made, at = self._recognizer, self._position.get(taxon_id)
            return made is not None and at is not None and made.can_recognise(at)

    def chance(self, path: Path, taxon_ids: Sequence[str]) -> float:
        """Return the chance that a photo shows one of these species."""
        state = path, file_state(path)
        self._waiting[state] = None
        with self._turn:
            if self._recognizer is None:
                return 0.0
            waiting = [each for each in list(self._waiting) if each not in self._found]
            if state not in self._found:
                self._found.update(zip(waiting, self._recognizer.chances([file for file, _ in waiting]), strict=True))
            self._waiting.pop(state, None)
            self._on_photo(len(self._found))
        found = self._found[state]
        if found.error is not None:
            raise BadImage(found.error)
        return min(1.0, sum(found.chances.get(taxon_id, 0.0) for taxon_id in taxon_ids))
