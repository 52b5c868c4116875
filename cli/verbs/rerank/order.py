"""What `kb rerank` is asked for: its arguments, held against each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cli.verbs.rerank.listwise import ListwiseOrder
from data.errors import UsageError

if TYPE_CHECKING:
    from rerank.decompose.settings import DecomposeSettings

METHODS = ("decompose", "cotrr", "similarity")
PRESETS = ("default", "paper")
JUDGES = ("vision", "encoder")


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOrder:
    """The arguments of `kb rerank`.

    Raises:
        UsageError: where they contradict each other.
    """

    job: Path
    query: str | None = None
    profile: str | None = None
    method: str = "decompose"
    preset: str = "default"
    uses_context: bool = True
    asks_web: bool | None = None
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
            self.max_unscored is not None, self.asks_web is not None,
        )  # fmt: skip
        if self.method == "cotrr" and any(of_decompose):
            raise UsageError(
                "an option belongs to decompose, but --method is cotrr", hint="kb rerank --help says what is whose"
            )
        if self.method != "similarity" and self.profile is not None:
            raise UsageError(f"--profile belongs to --method similarity, but --method is {self.method}")
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

        if self.asks_web and not self.uses_context:
            raise UsageError("--web searches for context, and --no-context wants none")

    @property
    def is_silent(self) -> bool:
        """Whether nobody is asked: replies come from those that are kept, and no key is needed."""
        return self.offline or self.dry_run

    @property
    def stem(self) -> Path | None:
        """The output files without their endings."""
        if self.output is None:
            return None
        return self.output.with_suffix("") if self.output.suffix in (".trec", ".jsonl") else self.output

    def settings(self, judge: str) -> DecomposeSettings:
        """The settings of decompose for one of the judges."""
        from rerank.decompose.settings import settings_of

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
