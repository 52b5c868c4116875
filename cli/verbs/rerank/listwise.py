"""What `kb rerank --method cotrr` is asked for, and what it says at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cli.common import output

if TYPE_CHECKING:
    from rerank.cotrr.reranker import CotrrReranker
    from rerank.cotrr.settings import CotrrSettings
    from rerank.cotrr.tally import CotrrTally

STAGES = ("full", "evaluation", "deconstruction", "ranking")
Stages = Literal["full", "evaluation", "deconstruction", "ranking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListwiseOrder:
    """The arguments that the method cotrr alone has."""

    stages: Stages = "full"
    one_call: bool = False
    top: int | None = None
    window: int | None = None
    orders: int | None = None

    def settings(self, preset: str) -> CotrrSettings:
        """Return the settings of the method.

        Raises:
            ValueError: if they make no sense.
        """
        from rerank.cotrr.settings import cotrr_settings

        chosen = cotrr_settings("authors" if self.one_call and preset == "paper" else preset, self.stages)
        given: Mapping[str, object] = {"top_n": self.top, "window": self.window, "n_orders": self.orders}
        changes = {name: value for name, value in given.items() if value is not None}
        form: Literal["one-call", "staged"] = "one-call" if self.one_call else "staged"
        return replace(chosen, form=form, **changes)  # type: ignore[arg-type]  # as declared above


def tally_of(reranker: object) -> CotrrTally | None:
    """Return what happened, where the method is cotrr."""
    from rerank.cotrr.reranker import CotrrReranker as Listwise

    found: CotrrReranker | None = reranker if isinstance(reranker, Listwise) else None
    return found.tally if found is not None else None


def summary(tally: CotrrTally) -> list[str]:
    """Return what to say at the end, in parts."""
    repairs = tally.repairs
    evaluated = [f"{output.plural(tally.n_evaluated, 'evaluation')}"] if tally.n_evaluated else []
    mended = f", {repairs.n_faults:,} faults mended" if repairs.n_faults else ""
    return [*evaluated, f"{output.plural(repairs.n_lists, 'ranking')}{mended}", *tally.lines()]
