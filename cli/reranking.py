"""A run of `kb rerank`: what it is given is read, joined to judges and knowledge, run, written and summed up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cli import output, wiring
from cli.config import Settings
from cli.endpoints import key_of
from cli.listwise import ListwiseOrder, tally_of
from cli.listwise import summary as summary_of_lists
from cli.progress import counted_calls
from data.errors import FieldmarkError, MissingRequirement, NothingReadable, UsageError

if TYPE_CHECKING:
    from data.contracts import Judge
    from data.records import Job, RankedImage
    from kb.endpoints import Budget, Connection, ReplyCache
    from rerank.cotrr_tally import CotrrTally
    from rerank.decompose import Tally
    from rerank.methods import Means
    from rerank.modes import DecomposeSettings
    from rerank.prompting import Prompts
    from rerank.scheduling import FairChat

METHODS = ("decompose", "cotrr", "similarity")
PRESETS = ("default", "paper")
JUDGES = ("vision", "encoder")
MOST_QUESTIONS = 3
REPLIES = "replies.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOrder:
    """The arguments of `kb rerank`.

    Raises:
        UsageError: where they contradict each other.
    """

    job: Path
    query: str | None = None
    method: str = "decompose"
    preset: str = "default"
    uses_context: bool = True
    direct: bool = False
    is_chained: bool | None = None
    is_together: bool | None = None
    stop_below: float | None = None
    is_routed: bool = False
    judge: str | None = None
    reasoning: bool = False
    votes: int = 1
    without_logprobs: Literal["stated", "votes", "text"] = "stated"
    questions_by: str | None = None
    unscored: str | None = None
    max_unscored: float | None = None
    prompts: Path | None = None
    max_cost: float | None = None
    offline: bool = False
    again: bool = False
    split: str | None = None
    dry_run: bool = False
    form: str = "trec"
    output: Path | None = None
    listwise: ListwiseOrder = field(default_factory=ListwiseOrder)

    def __post_init__(self) -> None:
        if self.method == "cotrr" and self.judge == "encoder":
            raise UsageError("the method cotrr needs a vision model", hint="--method decompose takes --judge encoder")
        of_decompose = (
            self.direct, self.is_chained is not None, self.is_together is not None, self.stop_below is not None,
            self.is_routed, self.reasoning, self.votes > 1, self.questions_by, self.unscored,
            self.max_unscored is not None,
        )  # fmt: skip
        if self.method == "cotrr" and any(of_decompose):
            raise UsageError(
                "an option belongs to decompose, but --method is cotrr", hint="kb rerank --help says what is whose"
            )
        if self.method != "cotrr" and self.listwise != ListwiseOrder():
            raise UsageError(
                f"--stages, --one-call, --top, --window and --orders belong to cotrr, but --method is {self.method}"
            )
        if self.votes % 2 == 0:
            raise UsageError(f"--votes {self.votes}: an even number may have no majority", hint="--votes 3")
        stem = self.stem
        if stem is not None and self.job.resolve() == stem.with_name(f"{stem.name}.jsonl").resolve():
            raise UsageError(f"--output {self.output} would overwrite the job", hint="choose another name")
        if self.job.is_file() and self.query is not None:
            raise UsageError("--query goes with a folder of photos; this job has its own queries")

    @property
    def stem(self) -> Path | None:
        """The output files without their endings."""
        if self.output is None:
            return None
        return self.output.with_suffix("") if self.output.suffix in (".trec", ".jsonl") else self.output

    def settings(self, judge: str) -> DecomposeSettings:
        """The settings of decompose for one of the judges."""
        from rerank.modes import settings_of

        asks = not self.direct
        mode: Literal["direct", "questions", "context", "full"]
        mode = ("full" if asks else "context") if self.uses_context else ("questions" if asks else "direct")
        chosen = settings_of(self.preset, mode)
        changes: dict[str, object] = {
            "is_chained": self.is_chained,
            "is_together": self.is_together,
            "stop_below": self.stop_below,
            "unscored": self.unscored,
            "max_unscored": self.max_unscored,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        if judge == "encoder" and self.stop_below is None:
            given["stop_below"] = None  # asking costs nothing, so there is nothing to save
        return replace(chosen, is_routed=self.is_routed, **given)  # type: ignore[arg-type]  # as declared above


def rerank_all(settings: Settings, order: RerankOrder, *, quiet: bool) -> bool:
    """Run the order; returns whether every image was judged as asked.

    Raises:
        FieldmarkError: if nothing could be judged, why.
    """
    from rerank.job import check_ids
    from rerank.methods import make_reranker
    from rerank.running import run_jobs

    jobs = _read(order, settings)
    if order.form == "trec" or order.output is not None:
        check_ids(jobs)
    with _means(settings, order, jobs) as made:
        if order.dry_run:
            output.write(_forecast(order, settings, jobs, made))
            return True
        reranker = make_reranker(order.method, made.means)
        done: dict[str, list[RankedImage]] = {}
        sink = _Sink(order, jobs, tag=f"fieldmark-{order.method}")
        with counted_calls("photos", sum(len(job.candidates) for job in jobs), quiet=quiet) as meter:

            def take(job: Job, ranked: list[RankedImage]) -> None:
                done[job.query_id] = ranked
                sink.take(job, ranked)
                meter(
                    sum(map(len, done.values())), sum(row.status == "error" for rows in done.values() for row in rows)
                )

            run_jobs(jobs, reranker, on_ranked=take)
        abilities = getattr(made.means.judge, "known_abilities", None)
        if abilities is not None and not abilities.tells_colours:
            output.warn("the model did not tell a red picture from a blue one: it may not see pictures at all")
        sink.close()
        if order.method == "cotrr":
            lists = tally_of(reranker)
            tally: Tally | None = None
        else:
            lists, tally = None, getattr(reranker, "tally", None)
        if not quiet:
            output.note(_summary(done, made, tally, lists))
    return _is_whole(done, tally, lists)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What a run works with."""

    means: Means
    judge: str
    chats: tuple[FairChat, ...] = ()
    n_retries: Callable[[], int] = field(default=lambda: 0)


@contextmanager
def _means(settings: Settings, order: RerankOrder, jobs: Sequence[Job]) -> Iterator[_Made]:
    """Give what the method needs, and close it again."""
    from rerank.kept import KeptResults
    from rerank.methods import Means
    from rerank.prompting import Prompts

    if order.method == "similarity":
        yield _Made(means=Means(encoders=wiring.load_encoders(settings.profile).text_image), judge="encoder")
        return
    if order.method == "cotrr":
        with ExitStack() as stack:
            yield _means_of_cotrr(settings, order, stack)
        return
    judge = order.judge or ("vision" if "vision" in settings.llm else "encoder")
    by_model = (order.questions_by or ("model" if judge == "vision" else "rule")) == "model"
    prompts = Prompts(order.prompts)
    with ExitStack() as stack:
        store = stack.enter_context(wiring.opened_or_starter(settings))
        # A wiki is asked for words that the knowledge base does not know, where the settings name one.
        helpers = stack.enter_context(wiring.helpers_of_context(settings, wiki=False if order.offline else None))
        kept = stack.enter_context(KeptResults(None if order.again else settings.home / "rerank" / "kept.sqlite"))
        means = Means(
            context=wiring.context_look_up(store, helpers),
            parts=wiring.query_parts(store),
            kept=kept,
            prompts=prompts,
            decompose=order.settings(judge),
        )
        chats: list[FairChat] = []
        connections: list[Connection] = []
        if judge == "vision" or (by_model and not order.direct):
            budget, cache = _budget(order), _cache(settings)

            def connect(*kinds: str) -> FairChat:
                chat, connection = _connected(settings, kinds, budget=budget, cache=cache, offline=order.offline)
                stack.callback(connection.close)
                connections.append(connection)
                chats.append(chat)
                return chat

            if judge == "vision":
                means = replace(means, judge=_vision_judge(order, prompts, connect("vision")))
            if by_model and not order.direct:
                # A vision model reads texts as well.
                means = replace(means, text=connect("text", "vision"))
        if judge == "encoder":
            means = replace(means, encoders=wiring.load_encoders(store.info.profile).text_image)
            if not order.dry_run and order.judge is None:
                output.note("no [llm.vision] is set: the encoders judge, which are weak for anything but looks")
        yield _Made(
            means=means, judge=judge, chats=tuple(chats),
            n_retries=lambda: sum(connection.n_retries for connection in connections),
        )  # fmt: skip


def _means_of_cotrr(settings: Settings, order: RerankOrder, stack: ExitStack) -> _Made:
    from rerank.methods import Means
    from rerank.prompting import Prompts

    budget, cache = _budget(order), _cache(settings)
    # The vision model reads notes as well; another one is asked only where it is set.
    kinds = ("vision", *(["text"] if "text" in settings.llm else []))
    made: list[tuple[FairChat, Connection]] = []
    for kind in kinds:
        made.append(_connected(settings, (kind,), budget=budget, cache=cache, offline=order.offline))
        stack.callback(made[-1][1].close)
    chats = tuple(chat for chat, _ in made)
    means = Means(
        vision=chats[0],
        text=chats[-1] if len(chats) > 1 else None,
        prompts=Prompts(order.prompts),
        cotrr=order.listwise.settings(order.preset),
    )
    return _Made(
        means=means, judge="vision", chats=chats,
        n_retries=lambda: sum(connection.n_retries for _, connection in made),
    )  # fmt: skip


def _vision_judge(order: RerankOrder, prompts: Prompts, chat: FairChat) -> Judge:
    from rerank.judge_vision import VisionJudge, VisionSettings

    vision = VisionSettings(
        is_reasoned=order.reasoning,
        n_votes=order.votes,
        spelling="exact" if order.preset == "paper" else "merged",
        without_logprobs=order.without_logprobs,
    )
    return VisionJudge(chat, settings=vision, prompts=prompts)


def _budget(order: RerankOrder) -> Budget:
    from kb.endpoints import Budget

    return Budget(order.max_cost)


def _cache(settings: Settings) -> ReplyCache:
    from kb.endpoints import ReplyCache

    return ReplyCache(settings.home / REPLIES)


def _connected(
    settings: Settings, kinds: Sequence[str], *, budget: Budget, cache: ReplyCache, offline: bool
) -> tuple[FairChat, Connection]:
    """Return the first of these models that is set, with its calls shared fairly.

    Raises:
        MissingRequirement: if none is set, or its key is missing.
    """
    from kb.endpoints import Connection
    from rerank.scheduling import FairChat

    kind = next((kind for kind in kinds if kind in settings.llm), None)
    if kind is None:
        raise MissingRequirement(
            f"no model is set that could do this: there is no [llm.{kinds[0]}]",
            hint=f"[llm.{kinds[0]}] in fieldmark.toml; --method decompose --judge encoder needs none",
        )
    endpoint = settings.llm[kind]
    key = "" if offline else key_of(endpoint, os.environ, kind=kind)
    connection = Connection(endpoint, key, cache=cache, budget=budget, offline=offline)
    chat = FairChat(connection, n_in_flight=endpoint.max_concurrent, finishes_first=budget.limit_usd is not None)
    return chat, connection


# --- what comes in -----------------------------------------------------------------------------------------------


def _read(order: RerankOrder, settings: Settings) -> list[Job]:
    from rerank.job import job_of_folder, read_jobs

    if order.job.is_dir() and order.query is not None:
        return [job_of_folder(order.job, order.query)]
    if order.job.is_dir() or order.job.suffix == ".parquet":
        from data.benchmarks.inquire import read_rerank

        if order.job.is_dir() and not _holds_rows(order.job):
            raise UsageError(f"{order.job} is a folder of photos", hint='--query "a bird with a red crown"')
        return read_rerank(order.job, split=order.split, images=settings.home / "inquire")
    jobs = read_jobs(order.job)
    # Paths in a file are relative to it, as in the settings.
    here = order.job.parent
    return [
        replace(job, candidates=tuple(replace(image, path=str(here / image.path)) for image in job.candidates))
        for job in jobs
    ]


def _holds_rows(folder: Path) -> bool:
    return any(
        next(folder.rglob(pattern), None) is not None for pattern in ("*.parquet", "metadata.jsonl", "metadata.csv")
    )


# --- what goes out -----------------------------------------------------------------------------------------------


class _Sink:
    """Rows to stdout in the order of the jobs as soon as they can come, or two files at the end."""

    def __init__(self, order: RerankOrder, jobs: Sequence[Job], *, tag: str) -> None:
        self._order, self._jobs, self._tag = order, jobs, tag
        self._done: dict[str, list[RankedImage]] = {}
        self._n_written = 0

    def take(self, job: Job, ranked: list[RankedImage]) -> None:
        self._done[job.query_id] = ranked
        if self._order.output is None:
            while self._n_written < len(self._jobs) and self._jobs[self._n_written].query_id in self._done:
                rows = self._done[self._jobs[self._n_written].query_id]
                output.write_rows(self._lines(self._order.form, rows))
                self._n_written += 1

    def close(self) -> None:
        from data.files import write_atomic

        stem = self._order.stem
        if stem is not None:
            for form in ("trec", "jsonl"):
                text = "".join(self._lines(form, self._done[job.query_id]) for job in self._jobs)
                write_atomic(stem.with_name(f"{stem.name}.{form}"), text.encode())

    def _lines(self, form: str, rows: Sequence[RankedImage]) -> str:
        if form == "trec":
            from rerank.job import trec_lines

            if all(row.status == "error" for row in rows):
                return ""  # a run has no word for a failed query: its rows would be the first stage's order
            return "".join(f"{line}\n" for line in trec_lines(rows, tag=self._tag))
        import json

        from data.codec import to_json

        return "".join(json.dumps(to_json(row), ensure_ascii=False) + "\n" for row in rows)


def _is_whole(done: dict[str, list[RankedImage]], tally: Tally | None, lists: CotrrTally | None = None) -> bool:
    """Return whether all went well.

    Raises:
        FieldmarkError: if no image was judged, why.
    """
    rows = [row for ranked in done.values() for row in ranked]
    failed = [row for row in rows if row.status == "error"]
    if failed and len(failed) == len(rows):
        told = lists if tally is None else tally
        causes: list[FieldmarkError] = [] if told is None else told.failures
        raise next(iter(causes), NothingReadable(failed[0].error or "no image could be judged"))
    if failed:
        output.warn(f"{len(failed):,} of {output.plural(len(rows), 'photo')} could not be judged: {failed[0].error}")
    n_fallbacks = 0
    for query_id, plan in tally.plans.items() if tally is not None else ():
        if plan.source == "fallback":
            n_fallbacks += 1
            output.warn(f"{query_id} was asked as it is: {plan.note}")
    if lists is not None and lists.n_not_deconstructed:
        n = output.plural(lists.n_not_deconstructed, "query", "queries")
        output.warn(f"{n} could not be taken apart: used as they are")
    if lists is not None and lists.n_failed_windows:
        output.warn(f"{output.plural(lists.n_failed_windows, 'window')} stayed in the order of the first stage")
    return not failed and not n_fallbacks and (lists is None or lists.is_whole)


def _summary(
    done: dict[str, list[RankedImage]], made: _Made, tally: Tally | None, lists: CotrrTally | None = None
) -> str:
    rows = [row for ranked in done.values() for row in ranked]
    parts = [f"{output.plural(len(done), 'query', 'queries')}, {output.plural(len(rows), 'photo')}"]
    if tally is not None:
        by = ", ".join(f"{name} {n:,}" for name, n in sorted(tally.obtained_by.items()))
        parts.append(f"{output.plural(tally.n_answers, 'answer')}" + (f" ({by})" if by else ""))
        if tally.n_unscored:
            parts.append(f"{tally.n_unscored:,} could not be told")
        if tally.n_not_asked:
            parts.append(f"{tally.n_not_asked:,} not asked after a sure no")
        if tally.n_kept:
            parts.append(f"{output.plural(tally.n_kept, 'photo')} judged before")
    if lists is not None:
        parts += summary_of_lists(lists)
    if made.chats:
        uses = [chat.usage for chat in made.chats]
        calls, cached = sum(use.n_calls for use in uses), sum(use.n_cached for use in uses)
        parts.append(f"{output.plural(calls, 'call')}, {cached:,} from the cache, {made.n_retries():,} tried again")
        cost = sum(use.cost_usd for use in uses)
        is_known = all(use.is_cost_known for use in uses)
        each = cost / max(1, len(done))
        parts.append(f"${cost:.4f}, ${each:.4f} a query" if is_known else "cost unknown: set price_in and price_out")
    return "; ".join(parts)


def _forecast(order: RerankOrder, settings: Settings, jobs: Sequence[Job], made: _Made) -> str:
    """Return what a run would do at most."""
    n_images = sum(len(job.candidates) for job in jobs)
    shown: dict[str, object] = {"queries": len(jobs), "photos": n_images, "judge": made.judge}
    if order.method == "cotrr":
        n_calls = sum(order.listwise.n_calls(order.preset, len(job.candidates)) for job in jobs)
        shown |= {"calls, without those asked again": n_calls}
    elif made.chats:
        chosen = order.settings(made.judge)
        n_questions = 1 if order.direct else MOST_QUESTIONS
        is_together = chosen.is_together and chosen.is_chained and not order.reasoning and order.votes == 1
        n_calls = n_images * (1 if is_together else n_questions) * order.votes
        n_written = 0 if made.means.text is None else len(jobs)
        shown |= {"calls at most, with log-probabilities and nothing asked again": n_calls + n_written + 2}
        endpoint = settings.llm.get("vision")
        if made.judge == "vision" and endpoint is not None and endpoint.prices is not None:
            tokens_in = n_calls * (endpoint.image_tokens + 500) + n_written * 1_000
            tokens_out = n_calls * (400 if order.reasoning else 20) + n_written * 400
            most = endpoint.prices.cost_usd(tokens_in, tokens_out)
            shown |= {"cost about, at most": f"${most:.2f}, ${most / max(1, len(jobs)):.4f} a query"}
    return output.as_fields(shown)
