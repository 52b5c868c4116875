"""What things are: the frozen records that all packages pass to each other.

A mapping in a record is never changed after the record is made. `data.codec` turns records into JSON and back; the
field names here are the words on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SubjectKind = Literal["taxon", "term"]
Stage = Literal["resolve", "fetch", "distil", "anchor", "encode", "index"]
STAGES: tuple[Stage, ...] = ("resolve", "fetch", "distil", "anchor", "encode", "index")
Rank = Literal["class", "order", "family", "genus", "species"]
AnswerRank = Literal["species", "genus", "family", "order", "none"]


# --- names -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Taxon:
    """A taxon as a checklist has it. `taxon_id` is the scientific name as a slug: `cardinalis-cardinalis`."""

    taxon_id: str
    scientific_name: str
    rank: str
    common_names: tuple[str, ...] = ()
    """The preferred English name first."""
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> scientific name, from the class down to the taxon's parent."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """Checklist -> identifier, both strings: `avibase`, `ebird`, `gbif`, `col`, `inat`, `wikidata`."""
    synonyms: tuple[str, ...] = ()
    """Other scientific names of the same taxon."""

    @property
    def common_name(self) -> str:
        """The preferred English name, else the scientific name."""
        return self.common_names[0] if self.common_names else self.scientific_name


# --- articles ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of an article: `start:end` are offsets into `Article.text`; the lead has level 1 and no title."""

    title: str
    level: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture that an article shows. `file` is the title of its file page without namespace (`Owl.jpg`)."""

    file: str
    caption: str = ""
    role: Literal["lead", "gallery", "body"] = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Infobox:
    """A taxobox: `names` is its heading, `binomial` and `classification` what it says of the taxon."""

    name: str = ""
    binomial: str | None = None
    classification: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a text comes from: enough to credit it and to find the very revision again."""

    title: str
    url: str | None = None
    revision: int | None = None
    licence: str | None = None
    language: str = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """A page, parsed. `text` is its normalised plain text, into which all spans of evidence point."""

    source: Source
    text: str
    sections: tuple[Section, ...] = ()
    figures: tuple[Figure, ...] = ()
    infobox: Infobox | None = None
    categories: tuple[str, ...] = ()
    is_disambiguation: bool = False

    def section_text(self, section: Section) -> str:
        """The plain text of one section, without its heading."""
        return self.text[section.start : section.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRef:
    """A page that stands for a subject. `revision` is the newest one known when it was looked up."""

    subject_id: str
    title: str
    revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page body as it came: what `articles/` keeps by the hash of `body`."""

    page: PageRef
    body: str
    media_type: Literal["text/html", "text/plain", "application/json"]
    source: Source
    categories: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


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


# --- knowledge ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of characters of `Article.text`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence of a summary and the spans of the article that support it (none for facts without an article)."""

    text: str
    evidence: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What an article says of the looks of a species."""

    statements: tuple[Statement, ...]
    stage: Literal["summary", "refined"] = "refined"
    scope: Literal["description", "article", "facts"] = "description"
    """From an article with a section on looks, from one without (what looks it tells of by the way), or bare facts."""
    distiller: str = ""
    """Name and version of what made it; with a model, also its name."""
    prompt_hash: str | None = None

    @property
    def text(self) -> str:
        """The sentences in one line; offsets of chunks point into it."""
        return " ".join(statement.text for statement in self.statements)

    @property
    def words(self) -> int:
        """The number of words in `text`."""
        return len(self.text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A run of whole sentences of one summary, short enough for every encoder: `start:end` into `Summary.text`."""

    chunk_id: str
    subject_id: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A picture that shows what a species looks like, with all that its credit needs.

    `anchor_id` is the sha256 of the image; an anchor that is a vector alone has an id of its own and no `sha256`.
    """

    anchor_id: str
    subject_id: str
    sha256: str | None = None
    file: str = ""
    page_url: str | None = None
    author: str | None = None
    licence: str | None = None
    licence_url: str | None = None
    caption: str = ""
    media_type: str = "image/jpeg"

    @property
    def credit(self) -> str | None:
        """Author, licence and file page in one line, or None for an anchor without an image."""
        if self.sha256 is None:
            return None
        parts = [self.author or "unknown author", self.licence or "unknown licence"]
        return ", ".join(parts) + (f" ({self.page_url})" if self.page_url else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorImage:
    """An anchor on its way from a source into a store: the bytes of its picture, or its vectors where there is none."""

    anchor: Anchor
    content: bytes | None = None
    vectors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Space -> vector, for an anchor that ships as numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A word of the trade: what it means and what to look for in a picture."""

    term_id: str
    name: str
    definition: str
    look_for: str = ""
    aliases: tuple[str, ...] = ()
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesEntry:
    """All that a knowledge base holds of one species."""

    taxon: Taxon
    source: Source | None = None
    summary: Summary | None = None
    chunks: tuple[Chunk, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    marks: tuple[str, ...] = ()
    """What a reader must know of it: `whole-article`, `no-anchors`, `no-summary`."""


# --- recognition -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMatch:
    """An anchor beside a photo: the cosine between the two, and whom the anchor is owed to."""

    id: str
    similarity: float
    credit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A species that a photo may show, with a score for every stage; none of them is ever overwritten."""

    taxon_id: str
    scientific_name: str
    common_name: str
    score: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    anchors: tuple[AnchorMatch, ...] = ()
    summary: str | None = None
    score_without_list: float | None = None
    """With a species list: `score` less `scores["list"]`, what being listed gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The one answer: a species, or only a genus or family, or `none`; both chances are null without a calibration.

    `none` is *not in this knowledge base*, and its confidence how likely that is; or, where that is null, that the bird
    cannot be told.
    """

    rank: AnswerRank
    name: str
    common_name: str | None = None
    confidence: float | None = None
    """How likely the answer is right; of a name, given that the bird is in the knowledge base."""
    absent: float | None = None
    """How likely the bird is not in the knowledge base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader (a vision model) chose among the candidates."""

    choice: str | None
    agreement: float | None = None
    """The share of all passes that voted for the choice; those that did not answer count against it."""
    margin: float | None = None
    reason: str = ""
    passes: int = 1
    """How often it was asked; 0 where the photo could not be shown to it."""
    answered: int = 1
    """In how many of these it chose a candidate, or none of them."""
    failures: tuple[str, ...] = ()
    """Why passes got no reply, one for each; the other passes that did not answer had replies that nobody can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identification:
    """The row of one photo; with `status` error there is neither an answer nor a candidate."""

    image: str
    box: tuple[float, float, float, float] | None = None
    status: Literal["ok", "error"] = "ok"
    error: str | None = None
    answer: Answer | None = None
    candidates: tuple[Candidate, ...] = ()
    place: tuple[float, float] | None = None
    date: str | None = None
    reader: Reading | None = None
    preset: str = ""
    kb: str = ""
    calibration: str | None = None
    seconds: float = 0.0
    species_list: str | None = None
    """What tells the species list and its odds from others, where one was given."""
    answer_without_list: Answer | None = None
    """What the answer is without it: as it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoProgress:
    """How far a run over photos is: `done` of `total` (None: nobody knows), `failed` of them could not be read."""

    done: int
    failed: int
    total: int | None
    seconds: float
    """Since the first photo was asked for."""

    @property
    def left_s(self) -> float | None:
        """The seconds that the rest takes at the speed so far; None where that cannot be told."""
        if self.total is None or not self.done:
            return None
        return self.seconds / self.done * max(0, self.total - self.done)


# --- models behind endpoints -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message to a chat model; `images` are JPEG or PNG files, shown after the text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """All that decides a reply: the whole of it, with the model's name, is the key under which the reply is cached."""

    messages: tuple[ChatMessage, ...]
    json_schema: Mapping[str, object] | None = None
    """The JSON schema that the reply must follow; None for free text."""
    max_tokens: int | None = None
    temperature: float = 0.0
    top_logprobs: int | None = None
    """How many alternatives a token of the reply comes with; None asks for no log-probabilities."""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """A token of a reply with its natural log-probability, and those of the `top` alternatives (itself among them)."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What a chat model answered, and what it cost; a reply from the cache costs nothing and is so marked."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where the price of the model is not known."""
    logprobs: tuple[TokenLogprobs, ...] | None = None
    """None where the server gave none."""
    finish: Literal["stop", "length"] = "stop"
    cached: bool = False
    citations: tuple[WebPassage, ...] = ()
    """What a model that searches the web names as its sources, in the order of its marks [1], [2], ...; texts may be
    empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPassage:
    """A text that a web search found, and where it stands."""

    text: str
    source: Source


# --- look-ups and reports ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonMatch:
    """A taxon found by a search, best first by `score`."""

    taxon_id: str
    scientific_name: str
    common_name: str
    rank: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TermNote:
    """A term as a context passage uses it."""

    name: str
    definition: str
    look_for: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the knowledge base knows of the words of a query; `found` is false when that is nothing."""

    query: str
    passage: str = ""
    terms: tuple[TermNote, ...] = ()
    sources: tuple[Source, ...] = ()
    found: bool = False
    written_by: str | None = None
    """The model that wrote the passage; None where it is put together from the texts as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a knowledge base holds, what failed, and what was left out by reason."""

    species: int
    articles: int
    summaries: int
    chunks: int
    anchors: int
    terms: int
    spaces: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    skipped_photos: Mapping[str, int] = field(default_factory=dict)
    """Photos that were not taken as anchors, by reason (licence, size, format)."""
    profiles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Profile -> its spaces; the knowledge base was built with the first one."""
    behind: Mapping[str, int] = field(default_factory=dict)
    """Profile -> how many species and terms it has no vectors of, of each that was added."""


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


# --- re-ranking --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class JobImage:
    """An image to be ranked, with its score in the first stage."""

    image_id: str
    path: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A query and the images that a first stage found for it: one line of a rerank job."""

    query_id: str
    text: str
    candidates: tuple[JobImage, ...]
    reference_image: str | None = None
    modification: str | None = None
    dialogue: tuple[str, ...] | None = None
    relevant: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a picture: chat models answer the question, encoders weigh statement against negation."""

    question: str
    statement: str
    negation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPart:
    """A name inside a query that a knowledge base explains; `looks` says what to look for in a picture, if it knows."""

    kind: Literal["species", "group", "term"]
    text: str
    """As the query spells it."""
    name: str
    """As the knowledge base spells it."""
    looks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge says to one question on one image.

    `probability` is that of yes, in [0, 1]; None where the judge could not tell, and `note` then says why.
    """

    probability: float | None
    answer: Literal["yes", "no"] | None
    obtained_by: str
    """`logprobs`, `votes 2/3`, `stated`, `text`, `cosines`; after `;` what else must be known of it."""
    note: str = ""
    """The reasoning that a model wrote down before its answer, or why there is no answer."""
    cost_usd: float | None = 0.0
    """None where the price is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """A question put to a judge of an image, the answer, and how its probability was obtained."""

    question: str
    answer: str | None
    probability: float | None
    obtained_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedImage:
    """An image at its new rank (1 is best), with the evidence for it."""

    query_id: str
    image_id: str
    rank: int
    score: float
    first_stage_rank: int
    status: Literal["ok", "error"] = "ok"
    error: str | None = None
    questions: tuple[QuestionAnswer, ...] = ()
    evaluation: str | None = None
    cost_usd: float | None = 0.0
    """What its answers cost when they were given; None where the price is not known."""
