"""Distilling with a language model, in the paper's two passes or in one; every reply is checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from data.contracts import ChatModel
from data.errors import MalformedAnswer
from data.records import Article, ChatMessage, ChatReply, ChatRequest, Summary, Taxon
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.fencing import Numbered, fenced, numbered_article, numbered_summary, one_line
from kb.distill.model_reply import SCHEMA, Checked, Rules, checked
from kb.distill.prompts import DistilPrompts
from kb.distill.sections import SectionKind
from kb.distill.trimming import NameHider

Mode = Literal["model", "model-two-pass", "model-summary"]
PASSES: dict[Mode, tuple[Literal["distil", "summarise", "refine"], ...]] = {
    "model": ("distil",),
    "model-two-pass": ("summarise", "refine"),
    "model-summary": ("summarise",),
}
# VR-RAG section 3: 127 words after the first pass, 76 after the second. The upper bounds are ours.
TARGET_WORDS = {"distil": 76, "summarise": 127, "refine": 76}
MAX_WORDS = {"distil": 110, "summarise": 200, "refine": 110}
MAX_OUTPUT_TOKENS = 2000
# What makes a reply of which nothing is left a failure; without one, it said nothing of looks.
FAULTS = frozenset(("unsupported", "sexes mixed up", "markup", "too long", "out of form"))
ASKED_AGAIN = 1
"""Number of retries after a faulty reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A model's summary of an article, with that of the first pass where there are two."""

    summary: Summary | None
    draft: Summary | None = None


class ModelDistiller:
    """Makes summaries by asking a language model; each statement points at the sentences that it rests on.

    The article goes into the prompt as numbered sentences between marks that it cannot contain. What comes back is
    checked (`llm_reply`); a reply with faults is given back once with the list of them, and what is still wrong then is
    dropped. `repairs` counts what was mended, dropped and asked again.

    Source:
        VR-RAG, section 3, "Summary Generation and Refinement": an article of 552 words is summarised (127) and the
        summary refined to visual attributes (76). `model-two-pass` does that, and `model-summary` its first half.
        Differs: prompts in our own words; structured replies that name their evidence; checks. `model` does it in one
        pass, with the rules of both.

    Args:
        chat: the model.
        mode: in which passes.
        prompts: ours or the user's.
    """

    def __init__(self, chat: ChatModel, *, mode: Mode = "model", prompts: DistilPrompts | None = None) -> None:
        self.mode = mode
        self.repairs: Counter[str] = Counter()
        self._replies: Counter[str] = Counter()
        self._cost_usd = 0.0
        self._chat = chat
        self._prompts = prompts or DistilPrompts()
        self.prompt_hash = self._prompts.digest(*PASSES[mode], "repair")

    @property
    def name(self) -> str:
        """Kind and version, model and prompts: part of the fingerprint of every summary."""
        return f"{self.mode}/1 {self._chat.name} prompts {self.prompt_hash}"

    async def distil_async(self, article: Article, taxon: Taxon) -> Distilled:
        """Return what the article says of the looks of the taxon; no summary where it says nothing.

        Raises:
            Refused: if the model will not answer.
            MalformedAnswer: if nothing that it wrote can be used.
            CostStop, NotCached, SourceError: as the model raises them.
        """
        hider = NameHider(taxon, article.source.title)
        sentences = numbered_article(article)
        draft: Summary | None = None
        for place, step in enumerate(PASSES[self.mode]):
            if not sentences:
                return Distilled(summary=None, draft=draft)
            source = sentences
            is_first = place == 0
            messages = self._messages(step, source, taxon, title=article.source.title if is_first else "")
            rules = Rules(max_words=MAX_WORDS[step], is_refined=step != "summarise")
            found = await self._ask(messages, source, article, rules, hider, taxon)
            if not found.statements:
                return Distilled(summary=None, draft=draft)
            summary = self._summary(article, found, stage="refined" if rules.is_refined else "summary")
            if place == len(PASSES[self.mode]) - 1:
                return Distilled(summary=summary, draft=draft)
            draft, sentences = summary, numbered_summary(summary)
        raise AssertionError("unreachable: the last pass returns")

    @property
    def n_calls(self) -> int:
        """Number of replies that were not cached."""
        return self._replies["calls"]

    def account(self) -> dict[str, object]:
        """Return what was asked so far, and what it cost: plain values for the manifest of a run."""
        return {
            "name": self._chat.name,
            "prompt_hash": self.prompt_hash,
            **{name: self._replies[name] for name in ("calls", "cached", "input_tokens", "output_tokens")},
            "cost_usd": round(self._cost_usd, 6),
            "repairs": dict(sorted(self.repairs.items())),
        }

    def prompt_tokens(self, step: Literal["distil", "summarise", "refine"]) -> float:
        """Return about how many tokens the prompt of a pass has, at four characters each."""
        return len(self._prompts.text(step)) / 4

    def first_request(self, article: Article, taxon: Taxon) -> ChatRequest:
        """Return what the model is asked first about an article."""
        step = PASSES[self.mode][0]
        return _request(self._messages(step, numbered_article(article), taxon, title=article.source.title))

    def _messages(
        self, step: Literal["distil", "summarise", "refine"], sentences: Sequence[Numbered], taxon: Taxon, *, title: str
    ) -> tuple[ChatMessage, ...]:
        fence = fenced("summary" if step == "refine" else "article", sentences, title=title)
        prompt = self._prompts.fill(
            step,
            common_name=one_line(taxon.common_name),
            scientific_name=one_line(taxon.scientific_name),
            open=fence.open,
            close=fence.close,
            target_words=str(TARGET_WORDS[step]),
            max_words=str(MAX_WORDS[step]),
        )
        return ChatMessage(role="system", text=prompt), ChatMessage(role="user", text=fence.text)

    async def _ask(
        self,
        messages: tuple[ChatMessage, ...],
        sentences: Sequence[Numbered],
        article: Article,
        rules: Rules,
        hider: NameHider,
        taxon: Taxon,
    ) -> Checked:
        for again in range(ASKED_AGAIN + 1):
            reply = await self._chat.reply(_request(messages))
            self._count(reply)
            found = checked(reply.text, sentences, article.text, rules, hider)
            if reply.finish == "length":
                found.problems.append("- it was cut off; make it shorter")
            if found.is_readable and not found.statements and not found.problems and _says_looks(article, taxon):
                found.problems.append("- nothing of it says what can be seen, but there are sentences that do")
            if not found.problems or again == ASKED_AGAIN:
                break
            self.repairs["asked again"] += 1
            told = self._prompts.fill("repair", problems="\n".join(found.problems))
            # The faulty reply goes back cut short: a model that raves would fill the prompt.
            said = ChatMessage(role="assistant", text=reply.text[:8000] or "(nothing)")
            messages = (*messages[:2], said, ChatMessage(role="user", text=told))
        self.repairs.update(found.repairs)
        if not found.is_readable:
            raise MalformedAnswer(f"{self._chat.name}: not in the form that was asked for, after being told")
        if not found.statements and (kinds := ", ".join(sorted(found.repairs.keys() & FAULTS))):
            raise MalformedAnswer(f"{self._chat.name}: nothing of the reply can be used ({kinds})")
        return found

    def _count(self, reply: ChatReply) -> None:
        if reply.cached:
            self._replies["cached"] += 1
            return
        self._replies.update(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        self._cost_usd += reply.cost_usd or 0.0

    def _summary(self, article: Article, found: Checked, *, stage: Literal["summary", "refined"]) -> Summary:
        return Summary(
            statements=found.statements,
            stage=stage,
            scope=_scope(article, found),
            distiller=f"{self.mode}/1 {self._chat.name}",
            prompt_hash=self.prompt_hash,
        )


def _request(messages: tuple[ChatMessage, ...]) -> ChatRequest:
    return ChatRequest(messages=messages, json_schema=SCHEMA, max_tokens=MAX_OUTPUT_TOKENS)


def _says_looks(article: Article, taxon: Taxon) -> bool:
    """Return whether the article has a section on looks with something in it, so that an empty reply is lazy."""
    summary = ExtractiveDistiller().distil(article, taxon)
    return summary is not None and summary.scope == "description"


def _scope(article: Article, found: Checked) -> Literal["description", "article", "facts"]:
    if article.source.url is None and article.source.revision is None:
        return "facts"
    spans = {span for statement in found.statements for span in statement.evidence}
    kinds = {sentence.kind for sentence in numbered_article(article) if sentence.spans[0] in spans}
    return "description" if SectionKind.LOOKS in kinds else "article"
