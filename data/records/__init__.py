"""Records: frozen dataclasses that all packages pass to each other.

A mapping in a record is never changed after the record is made. `data.codec` turns records into JSON and back; the
field names are the words on the wire.
"""

from data.records.articles import Article, FetchedPage, Figure, Infobox, PageRef, Section, Source
from data.records.builds import (
    STAGES,
    Added,
    Change,
    ChangeKind,
    Exported,
    Failure,
    Imported,
    LeftOut,
    Progress,
    Removed,
    Stage,
    Status,
    Update,
    Verification,
)
from data.records.chat import ChatMessage, ChatReply, ChatRequest, TokenLogprobs, WebPassage
from data.records.detections import Box, Detection
from data.records.knowledge import Anchor, AnchorImage, Chunk, Span, SpeciesEntry, Statement, Summary, Term
from data.records.lookups import Context, TaxonMatch, TermNote
from data.records.photos import AnchorMatch, Answer, AnswerRank, Candidate, Identification, PhotoProgress, Reading
from data.records.queries import Job, JobImage, Judgement, QueryPart, Question, QuestionAnswer, RankedImage
from data.records.taxa import Rank, SubjectKind, Taxon, taxon_id

__all__ = [
    "STAGES",
    "Added",
    "Anchor",
    "AnchorImage",
    "AnchorMatch",
    "Answer",
    "AnswerRank",
    "Article",
    "Box",
    "Candidate",
    "Change",
    "ChangeKind",
    "ChatMessage",
    "ChatReply",
    "ChatRequest",
    "Chunk",
    "Context",
    "Detection",
    "Exported",
    "Failure",
    "FetchedPage",
    "Figure",
    "Identification",
    "Imported",
    "Infobox",
    "Job",
    "JobImage",
    "Judgement",
    "LeftOut",
    "PageRef",
    "PhotoProgress",
    "Progress",
    "QueryPart",
    "Question",
    "QuestionAnswer",
    "Rank",
    "RankedImage",
    "Reading",
    "Removed",
    "Section",
    "Source",
    "Span",
    "SpeciesEntry",
    "Stage",
    "Statement",
    "Status",
    "SubjectKind",
    "Summary",
    "Taxon",
    "TaxonMatch",
    "Term",
    "TermNote",
    "TokenLogprobs",
    "Update",
    "Verification",
    "WebPassage",
    "taxon_id",
]
