"""Reports of builds and of changes to a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["resolve", "fetch", "distil", "anchor", "encode", "index"]
STAGES: tuple[Stage, ...] = ("resolve", "fetch", "distil", "anchor", "encode", "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A subject left out of a build, with a reason that `kb status` counts."""

    name: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A subject for which a stage failed; the next run retries it."""

    taxon: str
    """Name of the species or term."""
    stage: str
    """Stage that failed."""
    reason: str
    """Why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a stage: `done` of `total` subjects, `failed` of them without result."""

    stage: Stage
    done: int
    total: int
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Contents of a knowledge base, failures, and subjects left out by reason."""

    species: int
    """Number of species."""
    articles: int
    """Number of articles."""
    summaries: int
    """Number of summaries."""
    chunks: int
    """Number of chunks."""
    anchors: int
    """Number of reference photos."""
    terms: int
    """Number of terms."""
    profile: str
    """Set of encoders."""
    spaces: tuple[str, ...]
    """Encoder spaces."""
    failures: tuple[Failure, ...] = ()
    """Species and terms that failed."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Reason -> number of names left out."""
    marks: Mapping[str, int] = field(default_factory=dict)
    """Mark -> number of species."""
    skipped_photos: Mapping[str, int] = field(default_factory=dict)
    """Photos that were not taken as anchors, by reason (licence, size, format)."""
    calibrations: Mapping[str, str] = field(default_factory=dict)
    """Preset -> photos behind its own calibration (`kb calibrate`)."""
    unfinished: tuple[Literal["build", "update"], ...] = ()
    """Work that was interrupted; run it again to finish it."""
    checklist: str = ""
    """Name and edition of the checklist of the last build; empty if it is not recorded."""


ChangeKind = Literal["new revision", "moved", "taken out", "photos"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change found by an update; `detail` gives the revisions, titles, reason or photos."""

    name: str
    """Scientific name."""
    kind: ChangeKind
    """Kind of change."""
    detail: str = ""
    """Revisions, titles, reason or photos."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Result of an update."""

    checked: int
    """Pages checked for a new revision."""
    changes: tuple[Change, ...] = ()
    """Changes found."""
    failures: tuple[Failure, ...] = ()
    """Species that failed."""
    requests: int = 0
    """API requests, retries included, photos excluded."""
    photos: int = 0
    """Photos downloaded."""
    distilled: int = 0
    """Texts that were distilled again."""
    model_calls: int = 0
    """Calls to a language model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenText:
    """Part of a user's text that went into a summary."""

    title: str
    """Name of the file."""
    sentences: int
    """Sentences taken from the text: by default the ones on looks."""
    of: int
    """All sentences of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Result of adding a user's text and photos; duplicates do not count as new."""

    subject_id: str
    """Id of the species or term."""
    name: str
    """Its name."""
    is_new: bool
    """True if the species or term is new to the knowledge base."""
    new_texts: int = 0
    """Texts that were added."""
    new_photos: int = 0
    """Photos that were added."""
    new_pages: int = 0
    """Pages of the web that were added."""
    new_credits: int = 0
    """Earlier texts and photos with another author, licence or address."""
    text: str = ""
    """The present summary, or definition of a term."""
    anchors: int = 0
    """All anchors that the species has now."""
    was_removed: bool = False
    """True if it was removed before; builds no longer leave it out."""
    new_names: tuple[str, ...] = ()
    """Common names that it did not have before."""
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> name of the higher taxa that are new or changed."""
    taken: tuple[TakenText, ...] = ()
    """The sentences taken from each given text."""
    read_again: int = 0
    """Earlier texts that were read in the words of another group, since the lineage changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Result of removing species or terms."""

    names: tuple[str, ...]
    """Names of the species and terms removed."""
    files: int
    """Articles and photos deleted that nothing else needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Contents of a bundle; `digest` is that of the knowledge base."""

    digest: str
    """Digest of the knowledge base."""
    species: int
    """Number of species."""
    terms: int
    """Number of terms."""
    images: int
    """Number of photos."""
    files: int
    """Number of files."""
    bytes: int
    """Size of all files."""
    withheld_pages: int = 0
    """Texts of web pages and web searches left out, since they have no free licence or are local files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of importing a bundle; if its vectors were kept, the digest equals that of the exported knowledge base."""

    digest: str
    """Digest of the new knowledge base."""
    species: int
    """Number of species."""
    terms: int
    """Number of terms."""
    anchors: int
    """Number of reference photos."""
    encoded: bool
    """True if texts and photos were encoded again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Agreement of ledger, Chroma, files and cache: problems and repairs."""

    ok: bool
    """Whether no problem was found."""
    digest: str
    """Digest of the knowledge base."""
    problems: tuple[str, ...] = ()
    """Problems found."""
    mended: tuple[str, ...] = ()
    """Problems repaired."""
