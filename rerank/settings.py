"""Settings of all methods of re-ranking and of interactive retrieval, by preset."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from annotated_types import Ge, Gt

from data.errors import UsageError
from data.images import MAX_SIDE

MAX_UNSCORED: Final = 0.2
"""Default of `max_unscored`; a setting that allows more does not hide them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecomposeSettings:
    """Settings of query decomposition.

    The four modes of the paper's ablation are (a) `direct` without `context`, (b) no `context`, (c) `direct`, (d) the
    full method.

    Source:
        Divide and Conquer, Figure 3 (a) to (d).
    """

    direct: bool = False
    """Ask the query itself as one question instead of decomposing it."""
    context: bool = True
    """Add background on the words of the query to the prompts."""
    chain: bool | None = None
    """Show the model the earlier questions and answers with each question. None: only with context."""
    together: bool = True
    """Ask all questions on a photo in one call where the judge supports it; applies to chained questions only."""
    stop_below: float | None = None
    """Skip the remaining questions on a photo once a probability of yes is below this, 0 to 1; skipped questions count
    as no. None: 0.05 for a vision model, 0 for encoders, which cost nothing to ask."""
    unscored: Literal["zero", "mean"] = "zero"
    """Value of a missing answer: 0, as in the paper, or the mean of that question over the query's other photos."""
    max_unscored: float = MAX_UNSCORED
    """Share of missing answers, 0 to 1, above which a query fails; 1, as in the paper, never."""
    questions_by: Literal["model", "rule"] | None = None
    """Author of the questions: a chat model or a plain rule. None: a model with a vision judge, the rule otherwise."""

    def __post_init__(self) -> None:
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise ValueError(f"stop_below: expected a number from 0 to 1, got {self.stop_below}")
        if not 0 <= self.max_unscored <= 1:
            raise ValueError(f"max_unscored: expected a number from 0 to 1, got {self.max_unscored}")

    @property
    def is_chained(self) -> bool:
        """Whether a question comes with the earlier answers."""
        return self.context and not self.direct if self.chain is None else self.chain


STOP_BELOW: Final = 0.05
"""Default of `stop_below` where every answer costs money; later answers seldom lift a photo with a sure no."""


WithoutLogprobs = Literal["stated", "samples", "text"]
Spelling = Literal["merged", "exact"]
Reasons = Literal["none", "before", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionSettings:
    """Settings of a vision model that answers yes or no.

    No reasons by default. The paper's text has each answer "accompanied by" an explanation, in no stated order, but its
    Table 2 counts two tokens an answer, so its cost is without. Reasons cost about fifty times the output. Before the
    answer they make its token almost certain, which leaves little to rank by; after it they change no probability.
    """

    reasons: Reasons = "none"
    """Reasons that the model writes with each answer: none, `before` it, or `after` it."""
    samples: int = 1
    """Times each question is asked, an odd number: the majority answers, the probability is the mean."""
    without_logprobs: WithoutLogprobs = "stated"
    """Source of the probability where the server returns no log-probabilities: a number that the model states, the
    share of yes in `fallback_samples` replies, or the word itself as 0 or 1."""
    fallback_samples: int = 5
    """Replies for `without_logprobs = "samples"`."""
    spelling: Spelling = "merged"
    """Tokens that count as yes and no: all spellings, or `Yes` and `No` exactly, as in the paper."""
    max_side: int = MAX_SIDE
    """Longest side of the photo that is sent, in pixels."""

    def __post_init__(self) -> None:
        if self.samples < 1 or self.samples % 2 == 0:
            raise ValueError(f"samples: expected an odd number, so that there is a majority, got {self.samples}")
        if self.fallback_samples < 1 or self.max_side < 1:
            raise ValueError(
                f"fallback_samples and max_side: expected at least 1, got {self.fallback_samples} and {self.max_side}"
            )


Form = Literal["staged", "one-call"]
Stages = Literal["full", "evaluation", "deconstruction", "ranking"]
RankFusion = Literal["mean-rank", "rrf"]
Replies = Literal["repaired", "authors"]

PHOTOS_PER_CALL: Final = 20  # models lose track of more, and servers limit them
NOTES_PER_CALL: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CotrrSettings:
    """Settings of listwise ranking."""

    form: Form = "staged"
    """`staged`: one call for the query, one per photo, one per ranking of the notes. `one-call`: all stages and photos
    in a single call."""
    stages: Stages = "full"
    """`full`, or an ablation: `ranking` alone shows the model query and photos; `evaluation` adds notes on each photo,
    `deconstruction` the parts of the query."""
    top: int | None = None
    """Photos that a ranking names; the others follow in first-stage order. None: all."""
    window: int | None = None
    """Photos in one ranking. None: 20 when the model sees photos, 50 when it sees notes."""
    step: int | None = None
    """Distance between overlapping windows. None: half a window."""
    orders: int = 2
    """Orders in which the photos of a window are shown; the ranks are fused."""
    fusion: RankFusion = "mean-rank"
    """How ranks are fused: mean rank, or reciprocal rank fusion."""
    photo_messages: bool = True
    """Send each photo in a separate message, under its number. False: texts and photos in turn in one message."""
    replies: Replies = "repaired"
    """Reading of rankings. `repaired`: faults are repaired and counted; after an unusable reply the model is told the
    problem. `authors`: only a JSON list of whole numbers is usable; otherwise the same request is sent again."""
    tries: int = 2
    """Requests for one reply until it counts as unusable."""
    temperature: float | None = 0.0
    """Temperature of all requests; 0 in the paper. None sends none."""
    max_side: int = MAX_SIDE
    """Longest side of the photo that is sent, in pixels."""

    def __post_init__(self) -> None:
        if self.tries < 1 or (self.temperature is not None and not self.temperature >= 0):
            raise ValueError(
                f"expected tries >= 1 and temperature >= 0, got {self.tries} tries and temperature {self.temperature}"
            )
        if self.orders < 1 or (self.top is not None and self.top < 1):
            raise ValueError(f"orders and top: expected at least 1, got {self.orders} and {self.top}")
        if self.max_side < 1:
            raise ValueError(f"max_side: expected at least 1, got {self.max_side}")
        if self.window_size < 2 or not 1 <= self.stride < self.window_size:
            raise ValueError(
                f"expected window >= 2 and 1 <= step < window, got window {self.window_size} and step {self.stride}"
            )

    @property
    def deconstructs(self) -> bool:
        """Whether the query is deconstructed first."""
        return self.stages in ("deconstruction", "full")

    @property
    def evaluates(self) -> bool:
        """Whether each photo is evaluated before the ranking."""
        return self.stages in ("evaluation", "full")

    @property
    def sees_photos(self) -> bool:
        """Whether the ranking call gets the photos; otherwise it gets the notes on them."""
        return self.form == "one-call" or not self.evaluates

    @property
    def window_size(self) -> int:
        """Photos in one ranking."""
        return self.window or (PHOTOS_PER_CALL if self.sees_photos else NOTES_PER_CALL)

    @property
    def stride(self) -> int:
        """Distance between windows."""
        return self.step or max(1, self.window_size // 2)


DrawingFusion = Literal["reciprocal-rank", "mean-similarity", "with-text"]
PromptName = Literal["auto", "feature", "entity", "scene"]
_ARTICLE: Final = re.compile(r"(?:an?|the|one|two|three|four|five|some|several|\d+)\b", re.IGNORECASE)
GeneratorName = Literal["endpoint", "folder", "anchors", "diffusers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisretSettings:
    """Settings of search by drawings."""

    prompt: PromptName = "auto"
    """Prompt of the instruction: `feature` for questions about a feature, `entity` for those about two species, `scene`
    for descriptions of a photo; `auto` takes `entity` for queries with an entity, `feature` for other questions."""
    template: str = "Generate a small image of the {instruction}"
    """Prompt of the image generator, with `{instruction}`."""
    tidy: bool = True
    """Take the first paragraph of the instruction alone, without label, quotation marks, capital article and full stop,
    and leave out "the" of the template before an article or a number; false draws the whole reply, like the authors'
    code."""
    generator: GeneratorName | None = None
    """Origin of the drawings: `endpoint` ([llm.image]), `folder` (`drawings`), `anchors` of the species that the query
    names, or `diffusers` on this machine. Default: `folder` if `drawings` is set, else `endpoint`."""
    drawings: Path | None = None
    """Folder of drawings, named by query id: `ID.png`, or `ID-1.png`, `ID-2.png`, ..."""
    model: str = "stabilityai/stable-diffusion-3.5-large"
    """Model of `diffusers`: its name on the hub, or a folder."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the pipeline of `diffusers`, such as {"num_inference_steps": 28}."""
    seed: int = 0
    """Random seed of the first drawing of `diffusers`; the others follow it."""
    images: int = 3
    """Drawings of a query, all from one instruction."""
    sample: int | None = None
    """Rank by this drawing alone, from 1, instead of all together."""
    fusion: DrawingFusion = "reciprocal-rank"
    """`reciprocal-rank`; `mean-similarity` of the drawings; or `with-text`: half by the text of the query."""
    damping: float = 1.0
    """Lambda of reciprocal rank fusion: 1 in the paper, 0 by default in the authors' code, 60 in other work."""

    def prompt_of(self, instruction: str) -> str:
        """Return the prompt of the image generator."""
        has_article = self.tidy and _ARTICLE.match(instruction)
        template = self.template.replace("the {instruction}", "{instruction}") if has_article else self.template
        return template.replace("{instruction}", instruction)

    def __post_init__(self) -> None:
        if self.images < 1 or not self.damping >= 0:
            raise ValueError(
                f"expected images >= 1 and damping >= 0, got {self.images} images and damping {self.damping}"
            )
        if self.sample is not None and not 1 <= self.sample <= self.images:
            raise ValueError(f"sample: expected 1 to {self.images}, got {self.sample}")
        if "{instruction}" not in self.template:
            raise ValueError(f"template: expected {{instruction}} in it, got {self.template!r}")
        if (self.drawings is not None) != (self.origin == "folder"):
            raise ValueError("expected drawings=DIR together with generator=folder, and with no other generator")

    @property
    def origin(self) -> GeneratorName:
        """The generator in force."""
        return self.generator or ("endpoint" if self.drawings is None else "folder")

    @property
    def needs_instruction(self) -> bool:
        """Whether the generator draws from an instruction."""
        return self.origin in ("endpoint", "diffusers")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionSettings:
    """Settings of the methods captions and visa."""

    captioner: str = "vision"
    """Writer of the captions: `vision`, by [llm.vision]; or the name or folder of a BLIP model on this machine, such as
    Salesforce/blip-image-captioning-large."""
    scorer: str = "sentence"
    """Scores texts for the query: `sentence`, cosine by the sentence encoder of the profile; or the name or folder of a
    cross-encoder of sentence-transformers, such as BAAI/bge-reranker-v2-m3."""
    first_stage: bool = True
    """Re-ranking: add the scores of the first stage, each scaled to 0 to 1 over the photos of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """The settings of each method; a method reads its own."""

    decompose: DecomposeSettings = field(default_factory=DecomposeSettings)
    vision: VisionSettings = field(default_factory=VisionSettings)
    cotrr: CotrrSettings = field(default_factory=CotrrSettings)
    visret: VisretSettings = field(default_factory=VisretSettings)
    captions: CaptionSettings = field(default_factory=CaptionSettings)
    depth: int | None = None
    """Images of the first stage that are re-ranked; the others stay below in their order. None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Settings of jobs: where candidates come from."""

    first_stage: Path | None = None
    """A run (TREC, or JSON lines of `kb rerank`) with the images to re-rank; queries that it lacks are left out."""
    within_subset: bool = False
    """Rank the small set of images of each query of a query set alone, for R_subset@k of CIRR."""


PRESETS: Final[Mapping[str, RerankSettings]] = {
    # CoTRR: a second ranking in reverse order costs one more call on notes and cancels most of the position bias.
    "default": RerankSettings(),
    "paper": RerankSettings(
        decompose=DecomposeSettings(together=False, stop_below=0.0, max_unscored=1.0),
        vision=VisionSettings(spelling="exact"),
        # One ranking of all candidates; the text names no number of them: --depth sets it.
        cotrr=CotrrSettings(orders=1, window=100),
        visret=VisretSettings(tidy=False),  # the whole reply; an article in it gives "of the a wren"
    ),
    # The published code of CoTRR's authors: the first ten in one message, three tries, no temperature.
    "authors": RerankSettings(
        cotrr=CotrrSettings(
            form="one-call",
            orders=1,
            top=10,
            window=100,
            photo_messages=False,
            replies="authors",
            tries=3,
            temperature=None,
        ),
        depth=10,
    ),
}
"""Preset -> settings; `authors` is one of cotrr alone.

The setting `cotrr.stages` selects models 2 to 5 of Wu et al., 2025 (arXiv 2509.14746), Table 3.
"""


def preset_settings(preset: str, method: str = "decompose") -> RerankSettings:
    """Return the settings of a preset.

    Raises:
        UsageError: if the method has no such preset.
    """
    known = [name for name in PRESETS if name != "authors" or method == "cotrr"]
    if preset not in known:
        raise UsageError(f'The method {method} has no preset "{preset}".', hint=f"Presets: {', '.join(known)}.")
    return PRESETS[preset]


Denoising = Literal["captions", "summary", "keywords", "cot"]
FeedbackMethod = Literal[
    "cot", "summary", "keywords", "captions", "rocchio", "rocchio-then-text", "rocchio-and-text", "none"
]
N_TURNS: Final = 5
"""Turns of feedback after turn 0 (section 4.2)."""
ROCCHIO: Final = ("rocchio", "rocchio-then-text", "rocchio-and-text")
"""Methods that move the vector of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackSettings:
    """Settings of interactive retrieval; the constants are those of the paper."""

    k: Annotated[int, Ge(1)] = 20
    """Images shown in each turn."""
    captioned: Annotated[int, Ge(1)] = 2
    """Relevant images captioned in each turn, at most; chosen at random."""
    seed: Annotated[int, Ge(0)] = 0
    """Seed of that choice; the same for all methods."""
    prefix: str = "Video or image of"
    """Words before the keywords, for the method `keywords`."""
    max_tokens: Annotated[int, Ge(1)] | None = None
    """Tokens of the encoder after which a query is cut off: 77 in the paper. None compares longer queries in pieces."""
    text: Denoising = "cot"
    """Query of the methods `rocchio-then-text` and `rocchio-and-text`; `captions` needs no language model."""
    alpha: Annotated[float, Ge(0)] = 1.0
    """Rocchio: weight of the query."""
    beta: Annotated[float, Ge(0)] = 0.75
    """Rocchio: weight of the mean of the relevant images."""
    gamma: Annotated[float, Ge(0)] = 0.15
    """Rocchio: weight of the mean of the other images shown, subtracted."""
    rocchio_relevant: Literal["all", "sampled"] = "all"
    """Rocchio: all relevant images, or the captioned sample. The paper is silent; the equation has all."""
    rocchio_from: Literal["original", "previous"] = "original"
    """Rocchio: move the original query by the images of all turns, or the vector of the turn before by its own. The
    paper is silent; the first is the textbook's. The second found more in `benchmarks.feedback_birds`; the default was
    not chosen by these figures."""
    names: Literal["knowledge", "text"] = "knowledge"
    """Names of species in a query: search by reference photos and descriptions in the knowledge base too, or by the
    text alone, as in the paper."""
    phrases: Annotated[int, Gt(0)] = 4
    """Phrases in a caption that is made without a vision model."""


FEEDBACK_PRESETS: Final[Mapping[str, FeedbackSettings]] = {
    "default": FeedbackSettings(),
    "paper": FeedbackSettings(max_tokens=77, names="text"),  # the context of CLIP, section 3.4
}
"""Preset -> settings."""


def text_form(method: FeedbackMethod, settings: FeedbackSettings) -> Denoising | None:
    """Return how a method writes its queries; None if their text stays the original."""
    if method in ("rocchio-then-text", "rocchio-and-text"):
        return settings.text
    return method if method in ("captions", "summary", "keywords", "cot") else None


def needs_text_model(method: FeedbackMethod, settings: FeedbackSettings) -> bool:
    """Return whether a language model denoises the queries of a method."""
    return text_form(method, settings) in ("summary", "keywords", "cot")
