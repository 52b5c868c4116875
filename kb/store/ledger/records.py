"""Rows of the tables `steps` and `entries`: results of stages, and finished subjects."""

from __future__ import annotations

from typing import Literal, NamedTuple

from data.records import SubjectKind

StepStatus = Literal["done", "failed", "left-out"]


class Step(NamedTuple):
    """The result of one stage for one subject, as a row of `steps`; `output` is JSON.

    `space` is the name of a collection in the stage `encode`, and empty in all others.
    """

    subject_id: str
    stage: str
    fingerprint: str
    status: StepStatus = "done"
    space: str = ""
    error: str | None = None
    output: str | None = None


class Entry(NamedTuple):
    """A finished subject, as a row of `entries`. `items`: kind of collection -> ids of its vectors, in order."""

    subject_id: str
    kind: SubjectKind
    name: str
    document: str
    record: str
    items: dict[str, list[str]]
