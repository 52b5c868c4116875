"""Distilling with a language model, in one or two passes, with checks of every reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from data.contracts import ChatModel
from data.errors import CutOff, MalformedAnswer
from data.lexicon.words import BIRDS, column, group_of_taxon
from data.prompts import one_line
from data.records import Article, ChatMessage, ChatReply, ChatRequest, Summary, Taxon
from kb.distill.claims import FAULTS, SCHEMA, CheckedReply, Rules, check_reply
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.prompts import DistilPrompts, NumberedSentence, fenced, numbered_article
from kb.distill.sentences import SectionKind
from kb.distill.subjects import NameHider

Mode = Literal["model", "model-two-pass", "model-summary"]
Step = Literal["distil", "summarise", "refine"]
PASSES: dict[Mode, tuple[Step, ...]] = {
    "model": ("distil",),
    "model-two-pass": ("summarise", "refine"),
    "model-summary": ("summarise",),
}
# VR-RAG section 3: 127 words after the first pass, 76 after the second. The upper bounds are ours.
TARGET_WORDS = {"distil": 76, "summarise": 127, "refine": 76}
MAX_WORDS = {"distil": 110, "summarise": 200, "refine": 110}
MAX_OUTPUT_TOKENS = 2000
NAMES_KEPT = " names kept"  # end of the name of a distiller that keeps the names of the species in refined summaries
N_RETRIES = 1  # after a faulty reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A model's summary of an article, and the draft of the first of two passes."""

    summary: Summary | None
    draft: Summary | None = None


class ModelDistiller:
    """Makes summaries with a language model; each statement cites its sentences in the article.

    A faulty reply is returned to the model once, with the list of faults; what is still wrong is dropped. `repairs`
    counts corrections, by kind. With `keep_names` refined summaries may name their species, as in figures 5 to 7; else
    names become pronouns, so that no text matches a photo by its name alone.

    Source:
        VR-RAG, section 3, "Summary Generation and Refinement": an article of 552 words is summarised (127) and the
        summary refined to visual attributes (76), as in `model-two-pass`; `model-summary` stops after the first pass.
        Differs: prompts in our own words; structured replies with evidence; checks; names are replaced unless
        `keep_names`. `model` needs one pass, with the rules of both.
    """

    def __init__(
        self, chat: ChatModel, *, mode: Mode = "model", prompts: DistilPrompts | None = None, keep_names: bool = False
    ) -> None:
        self.mode, self._keep_names = mode, keep_names
        self.repairs: Counter[str] = Counter()
        self._replies: Counter[str] = Counter()
        self._cost_usd = 0.0
        self._chat = chat
        self._prompts = prompts or DistilPrompts()
        self.prompt_hash = self._digest(BIRDS)

    @property
    def name(self) -> str:
        """Kind and version, model and prompts: part of the fingerprint of every summary of birds."""
        return self._named(BIRDS)

    def name_for(self, taxon: Taxon) -> str:
        """Return the name with the prompts for a taxon's group: part of the fingerprint of its summary."""
        return self._named(group_of_taxon(taxon.lineage, taxon.scientific_name))

    def _named(self, group: str) -> str:
        name = f"{self.mode}/1 {self._chat.name} prompts {self._digest(group)}"
        return name if group == BIRDS else f"{name} {group}"

    def _digest(self, group: str) -> str:
        steps = (self._prompts.name_for(step, group) for step in PASSES[self.mode])
        return self._prompts.digest(*steps, "repair", *(["names_kept"] if self._keep_names else []))

    async def distil_async(self, article: Article, taxon: Taxon) -> Distilled:
        """Return the summary of an article; None as summary if it does not describe the species.

        Raises:
            Refused: if the model refuses to answer.
            MalformedAnswer: if no part of its reply can be used.
            CostStop, NotCached, SourceError: from the model.
        """
        hider = NameHider(taxon, article.source.title)
        draft: Summary | None = None
        summary: Summary | None = None
        for step in PASSES[self.mode]:
            draft = summary
            sentences = (
                numbered_article(article)
                if draft is None
                else [
                    NumberedSentence(number=number, text=one_line(statement.text), spans=statement.evidence)
                    for number, statement in enumerate(draft.statements, 1)
                ]
            )
            if not sentences:
                return Distilled(summary=None)
            messages = self._messages(step, sentences, taxon, title=article.source.title if draft is None else "")
            rules = Rules(max_words=MAX_WORDS[step], is_refined=step != "summarise", keeps_names=self._keep_names)
            found = await self._ask(messages, sentences, article, rules, hider, taxon)
            if not found.statements:
                return Distilled(summary=None, draft=draft)
            summary = Summary(
                statements=found.statements,
                stage="refined" if rules.is_refined else "summary",
                scope=_scope(article, found),
                distiller=f"{self.mode}/1 {self._chat.name}{NAMES_KEPT if self._keep_names else ''}",
                prompt_hash=self._digest(hider.group),
            )
        return Distilled(summary=summary, draft=draft)

    @property
    def n_calls(self) -> int:
        """Number of replies that were not cached."""
        return self._replies["calls"]

    def account(self) -> dict[str, object]:
        """Return model, calls, tokens, cost and repairs so far, for the manifest of a run."""
        return {
            "name": self._chat.name,
            "prompt_hash": self.prompt_hash,
            **{name: self._replies[name] for name in ("calls", "cached", "input_tokens", "output_tokens")},
            "cost_usd": round(self._cost_usd, 6),
            "repairs": dict(sorted(self.repairs.items())),
        }

    def prompt_tokens(self, step: Step) -> float:
        """Return the approximate number of tokens of a pass's prompt, at four characters each."""
        return len(self._prompts.text(step)) / 4

    def first_request(self, article: Article, taxon: Taxon) -> ChatRequest:
        """Return the first request about an article."""
        step = PASSES[self.mode][0]
        sentences = numbered_article(article)
        return _request(self._messages(step, sentences, taxon, title=article.source.title))

    def _messages(
        self, step: Step, sentences: Sequence[NumberedSentence], taxon: Taxon, *, title: str
    ) -> tuple[ChatMessage, ...]:
        # Names come from lists and wikis: they stand within the fence, as the text does.
        names = f"{taxon.common_name} ({taxon.scientific_name})" if taxon.common_name else taxon.scientific_name
        named = f"{title}: {names}" if title else ""
        fence = fenced("summary" if step == "refine" else "article", sentences, title=named)
        opening, *_, closing = fence.split("\n")
        group = group_of_taxon(taxon.lineage, taxon.scientific_name)
        prompt = self._prompts.fill(
            self._prompts.name_for(step, group),
            common_name=one_line(taxon.common_name),
            scientific_name=one_line(taxon.scientific_name),
            open=opening,
            close=closing,
            target_words=str(TARGET_WORDS[step]),
            max_words=str(MAX_WORDS[step]),
            **{name: column("groups", name, group="")[group] for name in ("noun", "parts", "apart")},
        )
        if self._keep_names and step != "summarise":
            prompt = f"{prompt.rstrip()}\n\n{self._prompts.text('names_kept')}"
        return ChatMessage(role="system", text=prompt), ChatMessage(role="user", text=fence)

    async def _ask(
        self,
        messages: tuple[ChatMessage, ...],
        sentences: Sequence[NumberedSentence],
        article: Article,
        rules: Rules,
        hider: NameHider,
        taxon: Taxon,
    ) -> CheckedReply:
        def check(reply: ChatReply) -> CheckedReply:
            return check_reply(reply.text, sentences, article.text, rules, hider)

        for attempt in range(N_RETRIES + 1):
            try:
                sent = _request(messages)
                if attempt == N_RETRIES:  # the faulty reply before is part of its messages
                    sent = replace(sent, usable=lambda reply: not check(reply).is_useless)
                reply = await self._chat.reply(sent)
            except CutOff as error:
                self._count(error)
                raise
            self._count(reply)
            found = check(reply)
            if found.is_readable and not found.statements and not found.problems:
                plain = ExtractiveDistiller().distil(article, taxon)
                if plain is not None and plain.scope == "description":
                    found.problems.append("- it has no visible features, but the article describes some")
            if not found.problems or attempt == N_RETRIES:
                break
            self.repairs["retries"] += 1
            request = self._prompts.fill("repair", problems="\n".join(found.problems))
            # A faulty reply may be endless.
            faulty = ChatMessage(role="assistant", text=reply.text[:8000] or "(nothing)")
            messages = (*messages[:2], faulty, ChatMessage(role="user", text=request))
        self.repairs.update(found.repairs)
        if not found.is_readable:
            raise MalformedAnswer(f"{self._chat.name}: the reply is not in the requested form, also after a retry")
        if found.is_useless:
            kinds = ", ".join(sorted(found.repairs.keys() & FAULTS))
            raise MalformedAnswer(f"{self._chat.name}: no part of the reply can be used ({kinds})")
        return found

    def _count(self, reply: ChatReply | CutOff) -> None:
        if isinstance(reply, ChatReply) and reply.cached:
            self._replies["cached"] += 1
            return
        self._replies.update(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        self._cost_usd += reply.cost_usd or 0.0


def _request(messages: tuple[ChatMessage, ...]) -> ChatRequest:
    return ChatRequest(messages=messages, json_schema=SCHEMA, max_tokens=MAX_OUTPUT_TOKENS)


def _scope(article: Article, found: CheckedReply) -> Literal["description", "article", "facts"]:
    if article.source.url is None and article.source.revision is None:
        return "facts"
    spans = {span for statement in found.statements for span in statement.evidence}
    kinds = {sentence.kind for sentence in numbered_article(article) if sentence.spans[0] in spans}
    return "description" if SectionKind.LOOKS in kinds else "article"
