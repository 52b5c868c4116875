"""`python -m papers species`: retrieval by encoder, and readers, on labelled photos."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import click

from cli.common import exit_codes, options, output, wiring
from cli.common.output import counted_calls
from cli.common.readers import reader_failures
from data.errors import UsageError
from data.frames import Columns, as_csv, frame_of
from data.words import plural
from papers.species.retrieval import Anchors, Vocabulary

if TYPE_CHECKING:
    from cli.common.settings import Settings
    from kb.store.knowledge_base import KnowledgeBase
    from papers.species.photos import MeasuredPhotos
    from papers.species.readers import ReaderFigures
    from papers.species.retrieval import Texts

COLUMNS: Final[Columns] = {
    **dict.fromkeys(("vocabulary", "texts", "preset", "encoders", "anchors", "reader_context"), "text"),
    "reader_k": "integer", "measure": "text", "n_photos": "integer", "micro": "number",
}  # fmt: skip


# Long: parse, wire, call and print; a part of it would take most of the options.
@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|TABLE")
@options.kb_option("Knowledge base.")
@click.option("--texts", type=click.Choice(("descriptions", "names")), default="descriptions", show_default=True,
              help='Texts that photos are compared with: descriptions of species, or "a photo of NAME".')  # fmt: skip
@click.option("--vocabulary", type=click.Choice(get_args(Vocabulary)), multiple=True,
              help="Possible answers: all species, or those of the photos; repeat for both.  [default: open]",
)  # fmt: skip
@click.option("--anchors", type=click.Choice(get_args(Anchors)), multiple=True,
              help="Reference photos: of the knowledge base, or up to three training photos per species; repeat to "
              "compare.  [default: kb]")  # fmt: skip
@click.option("--readers", is_flag=True,
              help="Instead of retrieval: readers by [llm.vision] without retrieval, with direct RAG, with four kinds "
              "of context, and with 5, 10 and 15 chunks.")  # fmt: skip
@options.cost_options
@click.pass_context
def species(
    ctx: click.Context,
    dataset: Path,
    kb: Path | None,
    texts: Texts,
    vocabulary: tuple[Vocabulary, ...],
    anchors: tuple[Anchors, ...],
    readers: bool,
    max_cost: float | None,
    offline: bool,
) -> None:
    """Measure retrieval by single encoders, pairs and all, or readers, as CSV.

    The dataset is as for kb eval species. Without --readers each set of text-image encoders ranks 30 chunks, without
    and with the visual re-ranker. Exit code 7 if a reader failed for some photos, 6 if for all.

    Example: python -m papers species cub.csv --kb birds.kb --anchors kb --anchors train
    """
    from papers.species.photos import read_photos
    from papers.species.retrieval import retrieval_rows

    if readers and (texts != "descriptions" or vocabulary not in ((), ("open",)) or anchors not in ((), ("kb",))):
        raise UsageError("--readers takes descriptions, an open vocabulary and the reference photos of --kb.")
    if not readers and (given := options.given_options(ctx, ("max_cost", "offline"))):
        raise UsageError(f"{given[0]} needs --readers.")
    settings = options.settings(kb=kb)
    anchors = tuple(dict.fromkeys(anchors)) or ("kb",)
    figures = None
    with ExitStack() as stack:
        store = stack.enter_context(wiring.open_knowledge_base(settings))
        progress = partial(counted_calls, quiet=options.invocation().quiet)
        encoders = wiring.encoders_of(store)
        photos = read_photos(dataset, store, encoders, with_training="train" in anchors, progress=progress)
        if readers:
            figures = _read(settings, store, photos, max_cost=max_cost, offline=offline)
            rows = figures.rows
        else:
            vocabularies = tuple(dict.fromkeys(vocabulary)) or ("open",)
            rows = list(
                retrieval_rows(store, encoders, photos, texts=texts, vocabularies=vocabularies, anchors=anchors)
            )
    output.write_rows(as_csv(frame_of(rows, COLUMNS)))
    code = 0
    if figures is not None:
        n_photos = len(photos.labels)
        for setup, n in figures.failed.items():
            for line in reader_failures({"reader": n}, plural(n_photos, "photo"), instead="they count as wrong"):
                output.warn(f"{setup.preset}, {setup.context}, k={setup.k}: {line}")
        code = exit_codes.of_failures(sum(figures.failed.values()), n_photos * len(figures.failed))
    if code or photos.n_unreadable:
        ctx.exit(code or exit_codes.PARTLY)


def _read(
    settings: Settings, store: KnowledgeBase, photos: MeasuredPhotos, *, max_cost: float | None, offline: bool
) -> ReaderFigures:
    from cli.common.language_models import connect_model
    from cli.common.readers import source_texts
    from data.images.views import jpeg_of
    from data.prompts import Prompts
    from kb.checklist.reconcile import Reconciler
    from kb.endpoints.endpoint import Budget
    from papers.species.namer import PLACEHOLDERS as NAMING
    from papers.species.readers import COMPARISONS, ReaderResources, compare_readers
    from recognize.reader.reader import PLACEHOLDERS

    reconciler = Reconciler(store.checklist)

    def find(name: str) -> str | None:
        matched = reconciler.reconcile([name]).matched
        return matched[0].taxon.taxon_id if matched else None

    with (
        connect_model(settings, "vision", budget=Budget(max_cost), offline=offline) as chat,
        counted_calls("read", len(photos.labels) * len(COMPARISONS), quiet=options.invocation().quiet) as show,
    ):
        resources = ReaderResources(
            chat=chat,
            prompts=Prompts("recognize", PLACEHOLDERS, settings.prompts),
            naming=Prompts("papers", NAMING, settings.prompts),
            find=find,
            picture_of=partial(jpeg_of, max_side=chat.endpoint.image_px),
            sources=source_texts(store),
        )
        return compare_readers(store, wiring.encoders_of(store), photos, resources, on_progress=show)
