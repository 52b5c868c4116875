"""Reports of builds and of changes to a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["resolve", "fetch", "distil", "anchor", "encode", "index"]
STAGES: tuple[Stage, ...] = ("resolve", "fetch", "distil", "anchor", "encode", "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A subject that a build did not take in, with the reason in the fixed words that `kb status` counts."""

    name: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A subject that a stage failed for; the next run tries it again."""

    taxon: str
    stage: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a stage is: `done` of `total` subjects, `failed` of them in vain."""

    stage: Stage
    done: int
    total: int
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a knowledge base holds, what failed, and what was left out by reason."""

    species: int
    articles: int
    summaries: int
    chunks: int
    anchors: int
    terms: int
    profile: str
    spaces: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    skipped_photos: Mapping[str, int] = field(default_factory=dict)
    """Photos that were not taken as anchors, by reason (licence, size, format)."""


ChangeKind = Literal["new revision", "moved", "taken out", "photos"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an update found at one species or term: `detail` is the revisions, the titles, the reason, or the photos."""

    name: str
    kind: ChangeKind
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What an update asked for, found and did."""

    checked: int
    """Pages whose revision was asked for."""
    changes: tuple[Change, ...] = ()
    failures: tuple[Failure, ...] = ()
    requests: int = 0
    """API requests, tries included, photos apart."""
    photos: int = 0
    """Photos downloaded."""
    distilled: int = 0
    """Texts that were distilled anew."""
    model_calls: int = 0
    """Replies that a language model was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What a user's own text and photos came to; what was there already counts as nothing new."""

    subject_id: str
    name: str
    is_new: bool
    """Whether the knowledge base did not have the species or term before."""
    new_texts: int = 0
    new_photos: int = 0
    text: str = ""
    """The summary, or the definition of a term, as it is now."""
    anchors: int = 0
    """All anchors that the species has now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was taken out by the user's wish."""

    names: tuple[str, ...]
    files: int
    """Articles and photos deleted that nothing else needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What went into a bundle; `digest` is that of the knowledge base."""

    digest: str
    species: int
    terms: int
    images: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a bundle became; with vectors that were taken as they came, the digest is that of the one exported."""

    digest: str
    species: int
    terms: int
    anchors: int
    encoded: bool
    """Whether texts and photos were encoded here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether ledger, Chroma, files and cache agree, the problems found, and what of them was mended."""

    ok: bool
    digest: str
    problems: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
