"""Queries: chat requests and replies, look-ups of words, questions about photos, judgements and rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from data.errors import FieldmarkError
from data.records.knowledge import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message to a chat model; `images` are JPEG or PNG files, shown after the text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A request to a chat model; with the model's name it is the cache key of the reply."""

    messages: tuple[ChatMessage, ...]
    json_schema: Mapping[str, object] | None = None
    """The JSON schema that the reply must follow; None for free text."""
    max_tokens: int = 4_096
    """Tokens of the reply, which has more where it is cut off."""
    temperature: float | None = 0.0
    """None sends none: the server decides."""
    top_logprobs: int | None = None
    """Number of alternatives per token of the reply; None asks for no log-probabilities."""
    seed: int | None = None
    first_words: tuple[str, ...] = ()
    """Words in lower case: a reply that begins with one of them may be cut off."""
    in_one: bool = False
    """Send neighbouring messages of one role as one message, texts and pictures in turn."""
    usable: Callable[[ChatReply], bool] | None = field(default=None, compare=False, repr=False)
    """Whether the method can use a reply: one that it cannot use is passed on, but not remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """A token of a reply with its natural log-probability and the `top` alternatives, itself included."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """Reply of a chat model and its cost; a cached reply costs nothing."""

    text: str
    """The answer, without reasoning."""
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None if the price of the model is unknown."""
    logprobs: tuple[TokenLogprobs, ...] | None = None
    """Of the tokens of the answer; None if the server returned none."""
    finish: Literal["stop", "length"] = "stop"
    cached: bool = False
    reasoning: str = ""
    """The model's thoughts before the answer, where it sends them."""
    reasoning_tokens: int = 0
    """Tokens of thoughts, as counted by the server; they may be hidden."""
    citations: tuple[WebPassage, ...] = ()
    """Sources named by a model that searches the web, in the order of its marks [1], [2], ...; texts may be empty."""

    @property
    def reasons(self) -> bool:
        """Whether the model thought before it answered."""
        return bool(self.reasoning or self.reasoning_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawings:
    """Drawings of a prompt as files, in the order drawn, and their cost in US dollars; None if unknown."""

    paths: tuple[Path, ...]
    cost_usd: float | None = 0.0
    n_cached: int = 0
    problem: FieldmarkError | None = None
    """Why there are fewer than were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPassage:
    """A text found by a web search, with its source."""

    text: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class JobImage:
    """An image to be ranked, with its score in the first stage."""

    image_id: str
    """Id of the image within the job."""
    path: str
    """File; in a file of jobs, relative to it."""
    score: float
    """Score in the first stage; higher is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A query and the images that a first stage found for it: one line of a rerank job."""

    query_id: str
    """Id of the query."""
    text: str
    """The query; may be empty where the fields below hold it."""
    candidates: tuple[JobImage, ...]
    """Images of the first stage."""
    reference_image: str | None = None
    """Reference photo of a composed query; in a file of jobs, relative to it."""
    modification: str | None = None
    """Change to the reference photo; without it, `text` is the change."""
    dialogue: tuple[str, ...] | None = None
    """Turns of a dialogue: a description, then questions with their answers."""
    entity: str | None = None
    """Scientific name of the species of interest, where the query is about two."""
    is_question: bool | None = None
    """Whether the query is a question, no description of a photo. Default: it ends with a question mark."""
    relevant: tuple[str, ...] | None = None
    """Ids of the relevant images, for evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a photo: chat models answer it, encoders compare statement and negation."""

    question: str
    statement: str
    negation: str
    is_query: bool = False
    """The query itself, asked whole: a model gets the paper's wording, without the query a second time."""
    taxon_ids: tuple[str, ...] = ()
    """Species of the knowledge base that the question is about."""
    relation: Literal["shown", "absent", "looks"] = "shown"
    """What is asked of these species: the photo shows one of them, none of them, or one with the looks of the
    statement, such as a female."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPart:
    """A name inside a query that a knowledge base explains; `looks` describes its appearance, if known.

    The part `sex_age` is the sex or age of a species ("male") that the knowledge base tells from others.
    """

    kind: Literal["species", "group", "term", "sex_age"]
    text: str
    """As the query spells it."""
    name: str
    """As the knowledge base spells it."""
    looks: str = ""
    unlike: str = ""
    """Appearance of the other sexes and ages; of `sex_age` only."""
    taxon_ids: tuple[str, ...] = ()
    """The species, or those of the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A judge's answer to one question on one image.

    `probability` is that of yes, in [0, 1]; None for a missing answer, with the reason in `note`.
    """

    probability: float | None
    answer: Literal["yes", "no"] | None
    obtained_by: str
    """`logprobs`, `samples 2/3`, `stated`, `text`, `cosines`; details follow after `;`."""
    note: str = ""
    """The reasons that a model gave before its answer, or why there is no answer."""
    cost_usd: float | None = 0.0
    """None if the price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """A question put to a judge of an image, the answer, and how its probability was obtained."""

    question: str
    """The question."""
    answer: str | None
    """yes, no, or null."""
    probability: float | None
    """Probability of yes, 0 to 1; null for a missing answer."""
    obtained_by: str
    """Origin of the probability, such as `logprobs` or `cosines`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedImage:
    """An image at its new rank (1 is best), with the evidence for it."""

    query_id: str
    """Id of the query."""
    image_id: str
    """Id of the image."""
    rank: int
    """New rank, from 1."""
    score: float
    """Score of the method; higher is better. Minus the rank for an image below the depth of the re-ranking."""
    first_stage_rank: int
    """Rank before, from 1."""
    status: Literal["ok", "error"] = "ok"
    """Whether the image could be judged."""
    error: str | None = None
    """Why it could not."""
    questions: tuple[QuestionAnswer, ...] = ()
    """Questions with their answers."""
    evaluation: str | None = None
    """The model's notes or reasoning."""
    cost_usd: float | None = 0.0
    """Cost of its answers in US dollars; null if a price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonMatch:
    """A taxon found by a search, best first by `score`."""

    taxon_id: str
    """Id of the taxon."""
    scientific_name: str
    """Scientific name."""
    common_name: str
    """English name."""
    rank: str
    """Rank, such as species."""
    score: float
    """Score of the search; higher is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermNote:
    """A term as a context passage uses it."""

    name: str
    """The term."""
    definition: str
    """Its definition."""
    look_for: str = ""
    """What to look for in a photo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Context of a query from the knowledge base; `found` is false when there is none."""

    query: str
    """The query."""
    passage: str = ""
    """The explanation; empty if nothing was found."""
    terms: tuple[TermNote, ...] = ()
    """Terms that the passage explains."""
    sources: tuple[Source, ...] = ()
    """Sources of the passage."""
    found: bool = False
    """Whether anything was found."""
    written_by: str | None = None
    """The model that wrote the passage, or the search model that answered; None if it is made of stored texts."""
    asked_on: str | None = None
    """Date of a search model's answer."""
    groups: tuple[str, ...] = ()
    """Groups of species in the query, each with its species in the knowledge base."""
    unexplained: tuple[str, ...] = ()
    """Words and names of the query that are not everyday words, and that no source explains."""
