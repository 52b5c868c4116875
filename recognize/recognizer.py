"""Identification of species in a stream of photos."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from data.arrays import FloatArray
from data.contracts import Encoders, KnowledgeStore
from data.engines.contract import LOCAL, Engine
from data.errors import MissingKnowledgeBase, UsageError
from data.images.decode import Photo
from data.records import Answer, Identification, Taxon
from recognize.answers import BLANK, NO_BIRD, lineage_with_self, status_of
from recognize.candidates import CandidateMaker, answer_of
from recognize.confidence.calibration import (
    Calibration,
    Chances,
    Parameters,
    candidate_confidences,
    chances_of,
    estimate_prior,
    even_unknown,
    is_poor,
    parse_calibration,
    sample_of,
    shipped_calibration,
    species_chances,
)
from recognize.confidence.evidence import (
    LIKENESS,
    N_JUDGED,
    Evidence,
    Familiarity,
    find_evidence,
    mode_of,
    taxon_of,
)
from recognize.confidence.place import OccurrenceModel, PlacePrior, place_text, week_of
from recognize.confidence.prior import ListPrior, Prior, SpeciesList, judged, quarter_of, temperature_of
from recognize.detect.birds import (
    ANIMAL,
    BIRD,
    CLEAR_COSINE,
    LOW_COSINE,
    looks_of_birds,
    seen_kind,
    shows_bird,
)
from recognize.encounters import KeptPhotos, Source, encode_encounters, first_photos
from recognize.photos import Decoded, Given
from recognize.place_names import Place, place_at
from recognize.scoring.knowledge import Queries, read_knowledge
from recognize.scoring.presets import (
    FusionWeights,
    Settings,
    anchor_mode,
    check_contents,
    check_preset,
    score,
    weights_of,
)
from recognize.scoring.ranking import Ranking
from recognize.settings import GENERAL_PROFILE, MIN_CONFIDENCE, PLACE_ODDS, UNKNOWN_PRIOR


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoChances:
    """Chances of the species of the pool for a photo; none for a photo with an error or without a bird."""

    image: str
    chances: Mapping[str, float] = field(default_factory=dict)
    """Taxon id -> chance, 0 to 1, that the photo shows the species; of other species it is 0."""
    error: str | None = None


NEVER = 2.0
"""A confidence that no answer reaches."""


@dataclass(frozen=True, slots=True)
class _Boost:
    """A prior that applies to a photo."""

    prior: Prior[Any]
    taken: Any
    """Facts on the photo that it uses."""
    ranking: Ranking
    """With the boost."""


class Recognizer:
    """Identifies the species in photos with a knowledge base.

    Example:
        >>> import kb, recognize
        >>> from data.starter.knowledge import drawings_of
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> _ = kb.build("birds.kb", source.drawn_taxa()[:2], source, encoders)
        >>> photo = drawings_of("agelaius-phoeniceus", "query")[0].png()
        >>> with kb.open("birds.kb") as store:
        ...     row = next(recognize.Recognizer(store, encoders).identify([photo]))
        >>> row.answer.name, [candidate.taxon_id for candidate in row.candidates]
        ('Agelaius phoeniceus', ['agelaius-phoeniceus', 'alcedo-atthis'])
    """

    def __init__(
        self,
        store: KnowledgeStore,
        encoders: Encoders,
        *,
        preset: str = "default",
        k: int = 5,
        weights: FusionWeights | None = None,
        calibration: Calibration | None = None,
        min_confidence: float = MIN_CONFIDENCE,
        unknown_prior: float | None = None,
        species_list: SpeciesList | None = None,
        occurrence: OccurrenceModel | None = None,
        place: Place | None = None,
        place_odds: float = PLACE_ODDS,
        date: str | None = None,
        n_chunks: int | None = None,
        batch_size: int = 32,
        engine: Engine = LOCAL,
        detections: Given | None = None,
    ) -> None:
        """Read the vectors of the store.

        Args:
            store: the knowledge base.
            encoders: the encoders of the knowledge base.
            preset: scoring method, one of `recognize.PRESETS`.
            k: candidates per photo.
            weights: weights of the default preset; default: of the profile.
            calibration: own calibration; default: that of the store, from `kb calibrate`. It is ignored if made for
                other species, encoders or another preset (`misfit`). Without one that fits, confidence is estimated by
                the shipped calibration of the profile, if it has one for the preset and its default settings.
            min_confidence: minimum confidence of an answer; below it the answer rolls up to genus, family, order, then
                none. Needs a calibration.
            unknown_prior: prior probability that a photo shows a species outside the store; default: estimated from
                the photos where `identify` gets a list of several, else .1. Needs a calibration.
            species_list: expected species, which are favoured; rows also hold the answer without the list.
            occurrence: model of where and when birds are reported; without one, places count for nothing. Species
                hardly ever reported at the place in the week of the photo become less likely.
            place: place of all photos, from `recognize.place_of`; default: that of each photo's EXIF data, if any.
            place_odds: odds against such a species; 1 ignores places.
            date: ISO 8601 date of all photos, for place and list; default: that of each photo's EXIF data, if any.
            n_chunks: for presets that rank chunks: the candidates are the species of this many best chunks instead of
                `k` species, as for the reader of VR-RAG (section 5.3).
            batch_size: photos encoded at once.
            engine: where photos are encoded; they are scored here.
            detections: path of a photo -> what another detector saw in it (`Detection` of kind `animal` or another),
                best first, with boxes in shares of its sides; it replaces our detector. Without an animal the photo
                shows no bird.

        Raises:
            SpaceMismatch: if the store was built with other encoders.
            MissingKnowledgeBase: if the store holds no species, or neither texts nor anchors.
            ConfigError: if the preset is unknown.
            UsageError: if a setting is out of range or not of the preset, or if no listed species is in the store.
        """
        # Long: each setting stands in the signature and in the docstring.
        if k < 1 or batch_size < 1 or (n_chunks is not None and n_chunks < 1):
            raise UsageError(f"Expected k, n_chunks and batch_size of at least 1, got {(k, n_chunks, batch_size)}")
        if not 0 <= min_confidence <= 1 or not (unknown_prior is None or 0 < unknown_prior < 1):
            raise UsageError(
                f"Expected min_confidence from 0 to 1 and unknown_prior above 0 and below 1, "
                f"got {min_confidence} and {unknown_prior}"
            )
        self.preset = preset
        self.k = k
        self.n_chunks = n_chunks
        self.min_confidence = min_confidence
        self.unknown_prior = unknown_prior
        """Prior probability of an unknown species; None estimates it for each list of photos."""
        self._settings = Settings(weights=weights, profile=encoders.profile)
        check_preset(preset, self._settings)
        self._store = store
        self._encoders = encoders
        self.detector = None if encoders.detector is None else encoders.detector.name
        """Name of the detector of birds; None where photos are compared whole."""
        self.observer = None if encoders.observer is None else encoders.observer.name
        """Name of the detector of other animals; None where there is none."""
        self._knowledge = read_knowledge(store, encoders)
        self._birds = looks_of_birds(encoders.visual, self._knowledge.anchors.vectors)
        self._maker = CandidateMaker(store, self._knowledge)
        self._familiarity = (
            Familiarity(self._knowledge, self._maker.lineages) if encoders.profile == GENERAL_PROFILE else None
        )
        self._parameters: Parameters | None = None
        self.calibration: Calibration | None = None
        """Source of confidences."""
        self.calibration_id: str | None = None
        self.misfit = ""
        """Reason that the given calibration is not used, a verb phrase; empty if it is used."""
        if calibration is None and (text := store.calibration_text(preset)) is not None:
            calibration = parse_calibration(text, f"The calibration of {preset} in {store.path}")
        if weights is None:
            self._calibrate(calibration)
        elif calibration is not None:
            self.misfit = "was made with other settings"
        self.species_list = species_list
        self.prior = self._prior(species_list)
        """Prior of the species list."""
        self.occurrence, self.place_odds = occurrence, place_odds
        self._set_place(place, date)
        self._photos = KeptPhotos(encoders, batch_size=batch_size, engine=engine, given=detections or {})
        hint = f"kb status --kb {store.path} shows whether its build is finished."
        if not store.taxon_ids:
            raise MissingKnowledgeBase(store.path, why="No species in the knowledge base", hint=hint)
        if not (len(self._knowledge.chunk_owners) or len(self._knowledge.anchors.owners)):
            raise MissingKnowledgeBase(
                store.path, why="Neither texts nor reference photos in the knowledge base", hint=hint
            )
        check_contents(preset, self._knowledge, store.path)

    def _set_place(self, place: Place | None, date: str | None) -> None:
        if date is not None and quarter_of(date) is None:
            raise UsageError(f"Expected a date such as 2026-05-31, got {date}")
        self.place, self.date = place, date

    def at(self, place: Place | None, date: str | None) -> Recognizer:
        """Return the same recognizer for photos of another place and date, as in the arguments of this class.

        Raises:
            UsageError: for a date that is none.
        """
        other = copy(self)
        other._set_place(place, date)
        return other

    def identify(self, images: Iterable[Source]) -> Iterator[Identification]:
        """Yield a row for each bird of each photo, or for each encounter, in order; an error is a row too.

        A photo without a box, because none was found or the encoders have no detector, has one row.

        Photos are read a few batches ahead, so the stream may be endless. Without a matching calibration, the answer is
        the first species with a null confidence.

        An encounter is answered from the readable ones of its photos. Photos of one burst are not independent, so its
        confidence is that of a single query, the mean of its photos' vectors, by the calibration of single photos.

        Args:
            images: paths, bytes of picture files, binary file objects, PIL pictures, arrays `(height, width, 3)` of
                uint8 RGB, or `data.images.decode.Photo`; a list or tuple of these is one encounter, as from
                `recognize.bursts`.

        Raises:
            TypeError: for something that is no photo.
        """
        prior = self.unknown_prior
        if prior is None:
            prior = self.estimate_unknown_prior(images) if isinstance(images, list | tuple) else UNKNOWN_PRIOR
        for batch, rankings, queries, seconds in self._ranked(images):
            yield from self._rows(batch, rankings, queries, seconds, prior)

    def _rows(
        self, batch: list[Decoded], rankings: list[Ranking], queries: Queries, seconds: float, prior: float
    ) -> Iterator[Identification]:
        """Yield the rows of a batch as `identify` does, by a prior of unknown species."""
        photos = [decoded.photo for decoded in batch if decoded.photo is not None]
        boosts = [self._boosts(ranking, photo) for ranking, photo in zip(rankings, photos, strict=True)]
        shown = [each[-1].ranking if each else ranking for each, ranking in zip(boosts, rankings, strict=True)]
        counts = [self._n_candidates(ranking) for ranking in rankings]
        evidence, chances = self._judged(rankings, queries, prior)
        needed = {int(i) for ranking, n in zip(shown, counts, strict=True) for i in ranking.species[:n]}
        self._maker.read(needed | {int(i) for ranking in rankings for i in ranking.species[:1]})
        at = -1
        for decoded in batch:
            row = self._row(decoded, seconds)
            if decoded.photo is None:
                yield row
                continue
            at += 1
            if not self._shows_bird(decoded, queries.visual[at]):
                nothing = Answer(rank="none", name="")
                shows = seen_kind(decoded.detections, but=(BIRD,)) or (BLANK if decoded.is_blank else None)
                yield replace(row, status="no_bird", answer=nothing, shows=shows)
                continue
            likest = None if evidence is None else self._likest(evidence, at)
            # Of a picture where the detector sees no bird, and that is not clearly like one, no group is named.
            least = self.min_confidence if self._is_seen(decoded, queries.visual[at]) else NEVER
            answers, confidences = self._answers(
                rankings[at], boosts[at], chances[at], likest, least=least, n=max(counts[at], N_JUDGED)
            )
            places = self._places_of_candidates(confidences, min(counts[at], len(shown[at].species)))
            answer, status = answers[-1], status_of(answers[-1])
            is_strange = self._is_strange(decoded, queries.visual[at])
            if is_strange and chances[at] is None:
                answer, status = Answer(rank="none", name=""), "unknown"
            row = replace(
                row,
                status=status,
                answer=answer,
                shows=self._seen_instead(decoded, is_strange=is_strange) if status == "unknown" else None,
                answer_without_list=None if self.prior is None else answers[0],
                candidates=self._maker.candidates(
                    shown[at], queries.visual[at], places=places, confidences=confidences
                ),
                calibration=self.calibration_id,
                unknown_prior=prior if self.calibration else None,
            )
            last = boosts[at][-1] if boosts[at] else None
            if last is not None and isinstance(last.prior, PlacePrior):
                row = replace(
                    row,
                    place_name=place_text(last.taken),
                    answer_without_place=answers[-2],
                    candidates=last.prior.with_ranges(row.candidates, shown[at].species[places], last.taken),
                )
            yield row

    def _row(self, decoded: Decoded, seconds: float) -> Identification:
        """Return the row of a photo without an answer, or with its error."""
        row = Identification(
            image=decoded.name,
            box=decoded.box,
            box_score=None if decoded.box_score is None else round(decoded.box_score, 4),
            bird=decoded.bird,
            n_birds=decoded.n_birds,
            preset=self.preset,
            kb=str(self._store.path),
            seconds=round(decoded.seconds, 4),
            species_list=self.species_list.id if self.species_list else None,
            photos=decoded.photos,
        )
        if decoded.photo is None:
            return replace(row, status="error", error=decoded.error)
        photo, seconds = decoded.photo, round(decoded.seconds + seconds, 4)
        return replace(row, place=photo.place, date=photo.date, notes=photo.notes, size=photo.size, seconds=seconds)

    def estimate_unknown_prior(
        self, images: Sequence[Source], *, on_rows: Callable[[list[Identification]], None] | None = None
    ) -> float:
        """Return the estimated share of photos that show a species outside the store.

        It is estimated from at most 128 of the photos, spread evenly, with one photo of each encounter and without
        photos that show no bird, or a bird too poorly; the next call of `identify` does not encode these again.
        Without a calibration, or of one photo, it is .1.

        `on_rows` gets the rows of these photos in batches while they are encoded, each photo identified alone.
        """
        photos = first_photos(images)
        if self._parameters is None or len(photos) < 2:
            return UNKNOWN_PRIOR
        even = [np.empty(0)]
        for batch, queries, seconds in self._photos.encode_ahead([photos[at] for at in sample_of(len(photos))]):
            rankings = score(self.preset, self._knowledge, queries, self._settings) if len(queries) else []
            if on_rows is not None:
                on_rows(list(self._rows(batch, rankings, queries, seconds, UNKNOWN_PRIOR)))
            is_bird = [
                len(ranking.species) > 0 and self._shows_bird(decoded, vector)
                for ranking, decoded, vector in zip(rankings, _readable(batch), queries.visual, strict=True)
            ]
            if any(is_bird):
                evidence = self._evidence(rankings, queries, self._parameters)
                is_good = ~is_poor(evidence.rows, self._parameters) & is_bird
                even.append(even_unknown(evidence.rows, self._parameters)[is_good])
        return estimate_prior(np.concatenate(even))

    def _shows_bird(self, decoded: Decoded, vector: FloatArray) -> bool:
        """Return whether detector or recognizer sees a bird; without a detector, only flat photos show none.

        In a knowledge base of any group, every photo may show one of its species: see `_is_strange`.
        """
        if decoded.is_blank or self._familiarity is not None:
            return not decoded.is_blank
        if decoded.is_flat or self._is_detected(decoded):
            return not decoded.is_flat
        is_other = seen_kind(decoded.detections, but=(BIRD, ANIMAL)) is not None
        return shows_bird(vector, self._birds, CLEAR_COSINE if is_other else LOW_COSINE)

    def _is_strange(self, decoded: Decoded, vector: FloatArray) -> bool:
        """Return whether a photo is unlike all of a knowledge base of any group."""
        if self._familiarity is None:
            return False
        return decoded.is_flat or self._familiarity.is_strange(vector, decoded.detections)

    def _is_seen(self, decoded: Decoded, vector: FloatArray) -> bool:
        """Return whether the detector sees a bird, or the photo is clearly like one; true with an own calibration.

        An own one was fitted on photos without a detected bird too, and other groups than birds have no detector.
        """
        is_own = self.calibration is not None and self.calibration.kind != "shipped"
        is_known = is_own or self._familiarity is not None or self._is_detected(decoded)
        return is_known or shows_bird(vector, self._birds, CLEAR_COSINE)

    def _is_detected(self, decoded: Decoded) -> bool:
        """Return whether the detector sees a bird; also true without a detector. An animal may be another one."""
        return self.detector is None or any(each.kind == BIRD for each in decoded.detections)

    def _seen_instead(self, decoded: Decoded, *, is_strange: bool) -> str | None:
        """Return what the detector sees in a photo that shows no species of the knowledge base, if it is sure."""
        if is_strange:
            return seen_kind(decoded.detections, but=(ANIMAL,))
        is_of_birds = self._familiarity is None and not self._is_detected(decoded)
        return seen_kind(decoded.detections, but=(BIRD, ANIMAL)) or NO_BIRD if is_of_birds else None

    def chances(self, images: Iterable[Source]) -> Iterator[PhotoChances]:
        """Yield the chances of all species of the pool for each photo or encounter, in order.

        They are the calibrated confidences, carried on to all species of the pool; without a calibration, the softmax
        of the scores. A photo of several birds shows a species unless none of them does.
        """
        prior = UNKNOWN_PRIOR if self.unknown_prior is None else self.unknown_prior
        temperature, _ = self._temperature()
        ids = self._store.taxon_ids
        for batch, rankings, queries, _ in self._ranked(images):
            _, chances = self._judged(rankings, queries, prior)
            at, absent = 0, dict[str, float]()
            for decoded in batch:
                if decoded.photo is None:
                    yield PhotoChances(image=decoded.name, error=decoded.error)
                    continue
                is_strange = chances[at] is None and self._is_strange(decoded, queries.visual[at])
                if len(rankings[at].species) and self._shows_bird(decoded, queries.visual[at]) and not is_strange:
                    lineages = self._maker.lineages(rankings[at].species)
                    shares = species_chances(rankings[at], chances[at], lineages, temperature=temperature)
                    for i, share in zip(rankings[at].species.tolist(), shares.tolist(), strict=True):
                        absent[ids[i]] = absent.get(ids[i], 1.0) * (1 - share)
                at += 1
                if decoded.bird == decoded.n_birds:
                    found = {taxon_id: 1 - share for taxon_id, share in absent.items()}
                    yield PhotoChances(image=decoded.name, chances=found)
                    absent = {}

    @property
    def taxa(self) -> dict[str, Taxon]:
        """Taxon id -> species of the knowledge base."""
        return {entry.taxon.taxon_id: entry.taxon for entry in self._store.species(self._store.taxon_ids)}

    def can_recognise(self, species: int) -> bool:
        """Return whether a species, by its position, has a description, a reference photo or a prototype."""
        knowledge = self._knowledge
        has_looks = knowledge.chunk_counts[species] or knowledge.anchor_counts[species]
        return bool(has_looks) or bool(len(knowledge.trained) and knowledge.prototype_rows[species] >= 0)

    def _ranked(self, images: Iterable[Source]) -> Iterator[tuple[list[Decoded], list[Ranking], Queries, float]]:
        """Yield batches of birds, their rankings and vectors, and the seconds per bird after decoding."""
        for batch, queries, seconds in encode_encounters(images, self._photos):
            start = time.perf_counter()
            rankings = score(self.preset, self._knowledge, queries, self._settings) if len(queries) else []
            seconds += time.perf_counter() - start
            yield batch, rankings, queries, seconds / max(1, len(queries))

    def _n_candidates(self, ranking: Ranking) -> int:
        if self.n_chunks is None or not len(ranking.chunks):
            return self.k
        return len(set(self._knowledge.chunk_owners[ranking.chunks[: self.n_chunks]].tolist()))

    def _places_of_candidates(self, confidences: Sequence[float], n: int) -> list[int]:
        """Return the places of `n` candidates in the ranking: the first, then the most confident.

        By score alone another species of the first one's genus may be left out that is more likely than all but it. The
        candidates of a reader of chunks are those of the chunks.
        """
        if not confidences or self.n_chunks is not None:
            return list(range(n))
        return [0, *sorted(range(1, len(confidences)), key=lambda place: -confidences[place])][:n]

    def _calibrate(self, own: Calibration | None) -> None:
        """Use the own calibration if it fits this recognizer, else the shipped one if that fits."""
        mode, profile = mode_of(self._knowledge), self._encoders.profile
        weights = weights_of(profile, self._knowledge) if self.preset == "default" else None
        for calibration in (own, shipped_calibration()):
            if calibration is None:
                continue
            misfit = calibration.misfit(
                profile=profile, preset=self.preset, spaces=self._encoders.spaces, taxon_ids=self._store.taxon_ids,
                mode=mode, weights=weights,
            )  # fmt: skip
            if not misfit:
                self.calibration, self.calibration_id = calibration, calibration.id
                self._parameters = calibration.parameters[self.preset][mode]
                return
            if calibration is own:
                self.misfit = misfit

    def _prior(self, species_list: SpeciesList | None) -> ListPrior | None:
        if species_list is None:
            return None
        temperature, is_fitted = self._temperature()
        return ListPrior(species_list, self._store.taxon_ids, temperature=temperature, is_fitted=is_fitted)

    def _temperature(self) -> tuple[float, bool]:
        """Return the temperature of the scores, and whether it was fitted for these encoders."""
        temperature, is_fitted = temperature_of(self._encoders.profile, self.preset, anchor_mode(self._knowledge))
        return (temperature if self._parameters is None else self._parameters.temperature), is_fitted

    @cached_property
    def _places(self) -> PlacePrior | None:
        if self.occurrence is None or self.place_odds == 1:
            return None
        temperature, _ = self._temperature()
        return PlacePrior(self.occurrence, self._maker.taxon, temperature=temperature, odds=self.place_odds)

    def _boosts(self, ranking: Ranking, photo: Photo) -> list[_Boost]:
        """Return the ranking with the species list, then with the place as well, as far as there are any."""
        date = self.date or photo.date
        facts: list[tuple[Prior[Any], Any]] = [] if self.prior is None else [(self.prior, date)]
        place = self.place if self.place is not None or photo.place is None else place_at(*photo.place)
        if place is not None and self._places is not None:
            facts.append((self._places, (place, week_of(date))))
        boosts = []
        for prior, taken in facts:
            ranking = prior.apply(ranking, taken)
            boosts.append(_Boost(prior, taken, ranking))
        return boosts

    def _evidence(self, rankings: list[Ranking], queries: Queries, parameters: Parameters) -> Evidence:
        self._maker.read({int(i) for ranking in rankings for i in ranking.species[:N_JUDGED]})
        return find_evidence(
            rankings, queries, self._knowledge, self._maker.lineages, temperature=parameters.temperature
        )

    def _judged(
        self, rankings: list[Ranking], queries: Queries, prior: float
    ) -> tuple[Evidence | None, list[Chances | None]]:
        """Return the evidence and the chances of the first species of each photo; none without a calibration."""
        if self._parameters is None or not rankings:
            return None, [None] * len(rankings)
        evidence = self._evidence(rankings, queries, self._parameters)
        chances = chances_of(evidence.rows, self._parameters, unknown_prior=prior)
        return evidence, [self._alone_in_genus(*pair) for pair in zip(rankings, chances, strict=True)]

    def _alone_in_genus(self, ranking: Ranking, chances: Chances) -> Chances:
        """Return chances by which a genus is as likely as the first species, if it is the only one held of it."""
        if not len(ranking.species) or self._genera[_genus(self._store.taxon_ids[int(ranking.species[0])])] > 1:
            return chances
        return replace(chances, held={**chances.held, "genus": chances.held["species"]})

    @cached_property
    def _genera(self) -> Counter[str]:
        """Number of entries of each genus."""
        return Counter(map(_genus, self._store.taxon_ids))

    def _likest(self, evidence: Evidence, photo: int) -> Taxon | None:
        """Return the species outside the knowledge base that a photo resembles clearly more than any other."""
        if evidence.likeness[photo] < LIKENESS:
            return None
        return taxon_of(self._knowledge.background_names[evidence.likest[photo]])

    def _answers(
        self,
        plain: Ranking,
        boosts: Sequence[_Boost],
        chances: Chances | None,
        likest: Taxon | None,
        *,
        least: float,
        n: int,
    ) -> tuple[list[Answer], tuple[float, ...]]:
        """Return the answer by the plain ranking, then with each boost, and the confidences of the `n` best species."""
        if not len(plain.species):
            chances = None
        answers, ranking = [self._answer(plain, chances, likest, least)], plain
        for boost in boosts:
            if chances is not None:
                lineages = self._maker.lineages(judged(ranking, boost.ranking))
                chances = boost.prior.chances(ranking, boost.ranking, chances, lineages, boost.taken)
            ranking = boost.ranking
            answers.append(self._answer(ranking, chances, likest, least))
        confidences: tuple[float, ...] = ()
        if chances is not None and self._parameters is not None:
            lineages = self._maker.lineages(ranking.species[:N_JUDGED])
            confidences = candidate_confidences(
                ranking, chances, lineages, temperature=self._parameters.temperature, n=n
            )
        return answers, confidences

    def _answer(self, ranking: Ranking, chances: Chances | None, likest: Taxon | None, least: float) -> Answer:
        first = self._maker.taxon(int(ranking.species[0])) if len(ranking.species) else None
        lineage = lineage_with_self(first) if first is not None else {}
        return answer_of(first, chances, lineage, min_confidence=least, likest=likest)


def _readable(batch: Iterable[Decoded]) -> list[Decoded]:
    return [decoded for decoded in batch if decoded.photo is not None]


def _genus(taxon_id: str) -> str:
    """Return the genus in a taxon id, which is a scientific name with hyphens."""
    return taxon_id.partition("-")[0]
