"""Records: frozen dataclasses that all packages pass to each other.

A mapping in a record is never changed after the record is made. `data.codec` turns records into JSON and back; the
field names are the words on the wire.
"""
# ruff: noqa: I001  # one import a module

from data.records.knowledge import (
    Article as Article,
    FetchedPage as FetchedPage,
    Figure as Figure,
    Infobox as Infobox,
    PageRef as PageRef,
    Section as Section,
    Source as Source,
)
from data.records.builds import (
    STAGES as STAGES,
    Added as Added,
    Change as Change,
    ChangeKind as ChangeKind,
    Exported as Exported,
    Failure as Failure,
    Imported as Imported,
    LeftOut as LeftOut,
    Progress as Progress,
    Removed as Removed,
    Stage as Stage,
    Status as Status,
    TakenText as TakenText,
    Update as Update,
    Verification as Verification,
)
from data.records.queries import (
    ChatMessage as ChatMessage,
    ChatReply as ChatReply,
    ChatRequest as ChatRequest,
    Drawings as Drawings,
    TokenLogprobs as TokenLogprobs,
    WebPassage as WebPassage,
)
from data.records.knowledge import (
    Anchor as Anchor,
    AnchorImage as AnchorImage,
    Chunk as Chunk,
    Span as Span,
    SpeciesEntry as SpeciesEntry,
    Statement as Statement,
    Summary as Summary,
    Term as Term,
    WebAnswer as WebAnswer,
)
from data.records.photos import (
    AnchorMatch as AnchorMatch,
    Answer as Answer,
    AnswerRank as AnswerRank,
    Box as Box,
    Candidate as Candidate,
    Correction as Correction,
    Detection as Detection,
    EncounterPhoto as EncounterPhoto,
    Identification as Identification,
    PhotoStatus as PhotoStatus,
    Reading as Reading,
)
from data.records.queries import (
    Context as Context,
    Job as Job,
    JobImage as JobImage,
    Judgement as Judgement,
    QueryPart as QueryPart,
    Question as Question,
    QuestionAnswer as QuestionAnswer,
    RankedImage as RankedImage,
    TaxonMatch as TaxonMatch,
    TermNote as TermNote,
)
from data.records.knowledge import (
    HIGHER_RANKS as HIGHER_RANKS,
    Rank as Rank,
    SubjectKind as SubjectKind,
    Taxon as Taxon,
    taxon_id as taxon_id,
    vocabulary_hash as vocabulary_hash,
)
