"""The knowledge base on pages: look-alikes beside each other, and the stages of its build."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from cli.common.options import kept_command
from cli.common.reports import lineage_text, status_text
from cli.serve.jobs import Verb
from cli.serve.pages import page
from data.arrays import FloatArray, as_unit_rows, rank_descending
from data.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from cli.serve.site import Site
    from data.records import Failure, Taxon
    from kb.store.knowledge_base import KnowledgeBase

N_ALIKE: Final = 6
MOST_SHOWN: Final = 500  # failures and skipped names


def _looks(store: KnowledgeBase) -> FloatArray:
    """Return `(n_species, dim)` unit rows of the mean reference photos; zero without any."""
    table = store.anchor_vectors(store.info.visual)
    sums = np.zeros((len(store.taxon_ids), table.vectors.shape[1]))
    np.add.at(sums, table.owners, table.vectors)
    return as_unit_rows(sums)


def look_alikes(store: KnowledgeBase, taxon_id: str) -> list[Taxon]:
    """Return the species whose mean reference photos are nearest, best first; none without reference photos."""
    looks, row = store.derived(_looks), list(store.taxon_ids).index(taxon_id)
    scores = looks @ looks[row]
    scores[row] = 0
    best = [at for at in rank_descending(scores, N_ALIKE).tolist() if scores[at] > 0]
    taxa = {taxon.taxon_id: taxon for taxon in store.taxa()}
    return [taxa[store.taxon_ids[at]] for at in best]


async def species(site: Site, request: Request) -> Response:
    """Return all that the knowledge base holds of a species or a term, by its id or any name."""
    from kb.lookup.entries import find_entry

    found = await site.look_up(find_entry, site.store, request.path_params["name"])
    if not hasattr(found, "entry"):
        return page("term.html", found.name, term=found)
    taxon = found.entry.taxon
    genus, alike = taxon.lineage.get("genus"), await site.look_up(look_alikes, site.store, taxon.taxon_id)
    relatives = [each for each in site.store.taxa() if genus and each.lineage.get("genus") == genus and each != taxon]
    lineage = lineage_text(taxon).split(" > ")
    read_on = await site.look_up(_read_on, site.store, taxon.taxon_id)
    return page(
        "species.html", taxon.common_name, found=found, relatives=relatives, alike=alike, lineage=lineage,
        read_on=read_on,
    )  # fmt: skip


def _read_on(store: KnowledgeBase, taxon_id: str) -> str:
    """Return the day on which the article of a species was fetched; empty without one."""
    from kb.store.stage_outputs import FetchOutput

    found = store.ledger.outputs("fetch", FetchOutput, "done", ids=[taxon_id])
    return found[taxon_id].retrieved_at[:10] if taxon_id in found else ""


async def beside(site: Site, request: Request) -> Response:
    """Return two species side by side, with the differences of their descriptions."""
    names = [request.path_params[name] for name in ("name", "other")]
    pair, differences = await site.look_up(_pair, site.store, names)
    return page("beside.html", "Side by side", pair=pair, differences=differences)


def _pair(store: KnowledgeBase, names: Sequence[str]) -> tuple[list[Any], list[tuple[str, str, str]]]:
    from data.lexicon.words import shared_group
    from kb.lookup.entries import find_entry
    from recognize.cards.species import difference_lines
    from recognize.explanation import contrast

    pair = [find_entry(store, name) for name in names]
    entries = [found.entry for found in pair if hasattr(found, "entry")]
    if len(entries) < 2:
        raise HTTPException(404, "Two species are compared, no terms.")
    one, other = (entry.summary.text if entry.summary else "" for entry in entries)
    group = shared_group(entry.taxon.lineage for entry in entries)
    return pair, difference_lines(contrast(other, one, group)) if one and other else []


async def build(site: Site, _: Request) -> Response:
    """Return the stages of the build of the knowledge base, the failures and the names left out."""
    return page("build.html", "Knowledge base", **await site.look_up(_state, site))


async def again(site: Site, _: Request) -> Response:
    """Run the last build or update of the knowledge base again, unless one is under way."""
    await site.look_up(_again, site)
    return RedirectResponse("/knowledge", status_code=303)


def _again(site: Site) -> None:
    folder, *arguments = kept_command(site.store.path, site.home) or [""]
    if not arguments:
        raise BadInput("The command of the last build is not known.", hint="Run it again in a terminal.")
    if not _progress(site, *_work(site.store))["is_running"]:
        site.build = Verb(*arguments, folder=Path(folder), then=site.reopen)


def _state(site: Site) -> dict[str, object]:
    store, run = site.store, site.build
    left_out, command = [*store.left_out(), *store.skipped_photos()], kept_command(store.path, site.home)[1:]
    stages, failures, unfinished = work = _work(store)
    contents = replace(store.status(), failures=(), unfinished=unfinished)
    return {
        "text": status_text(contents, store.path), "stages": stages, "unfinished": unfinished, **_progress(site, *work),
        "failures": failures[:MOST_SHOWN], "n_failures": len(failures), "left_out": left_out[:MOST_SHOWN],
        "n_left_out": len(left_out), "command": shlex.join(["kb", *command]) if command else "",
        "errors": [line for line in run.said if line.startswith(("error", "hint"))] if run and run.has_failed else [],
    }  # fmt: skip


def _work(
    store: KnowledgeBase,
) -> tuple[list[tuple[str, int, int]], list[Failure], tuple[Literal["build", "update"], ...]]:
    """Return the stages with their counts, the failures, and unfinished work, as they are now."""
    from kb.store.ledger import ledger_so_far

    with ledger_so_far(store.layout.ledger) as ledger:
        if ledger is None:
            return [], [], ()
        stages = []
        for stage in ("fetch", "distil", "anchor"):
            statuses = [step.status for step in ledger.each_step(stage)]
            stages.append((stage, statuses.count("done"), statuses.count("failed")))
        return stages, ledger.failures(), ledger.unfinished()


def _is_locked(path: Path) -> bool:
    """Return whether a process holds the write lock of a folder."""
    import fcntl

    try:
        with path.open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:  # without the file there is no lock
        return isinstance(error, BlockingIOError)
    return False


async def progress(site: Site, _: Request) -> Response:
    """Return whether a build goes on, and how far its stages are."""
    return JSONResponse(await site.look_up(lambda: _progress(site, *_work(site.store))))


def _progress(
    site: Site, stages: Sequence[tuple[str, int, int]], _: object, unfinished: Sequence[str]
) -> dict[str, object]:
    is_own = site.build is not None and site.build.is_running
    is_running = is_own or (bool(unfinished) and _is_locked(site.store.layout.lock))
    said = ", ".join(f"{stage} {done:,}" for stage, done, _ in stages)
    return {"is_own": is_own, "is_running": is_running, "said": said}


VIEWS: Final = {
    "/species/{name}": species,
    "/species/{name}/beside/{other}": beside,
    "/knowledge": build,
    "/knowledge/progress": progress,
}
ACTIONS: Final = {"/knowledge/again": again}
