"""`kb eval species`: accuracy of species identification on labelled photos."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from cli.common import options, output, wiring
from cli.common import readers as reader_wiring
from cli.common.progress import counted_calls
from cli.verbs.eval.species.readers import ReaderOrder
from recognize.evaluation.datasets import ANCHOR_SETS
from recognize.settings import EvaluationSettings

EXIT_PARTLY = 7
PRESETS = ("text-only", "anchors-only", "vr-rag-v1", "vr-rag-v2", "default")
CHOICES = (*PRESETS, "direct-rag")
READ_PRESETS = ("vr-rag-v1",)  # with a reader and no --preset: asking about all of them costs five times as much
COMPARED_PRESETS = ("vr-rag-v1", "direct-rag")


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|LIST.json")
@options.kb_option("Knowledge base.")
@click.option("--preset", "presets", type=click.Choice(CHOICES), multiple=True,
    help="Scoring of photos; repeat to compare with the first.  [default: all but direct-rag; with --reader vr-rag-v1]",
)  # fmt: skip
@click.option("--ablation", is_flag=True,
    help="Instead of presets: single text-image encoders, pairs and all, each with and without the visual re-ranker.",
)  # fmt: skip
@click.option("--anchors", type=click.Choice(ANCHOR_SETS), multiple=True,
    help="Reference photos; repeat to compare: those of the knowledge base, up to three training photos per species of "
    "the dataset, or the lead image of its article (collections only).  [default: kb]",
)  # fmt: skip
@click.option("--train", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|LIST.json",
    help="Photos of --anchors train.  [default: the split train of the dataset]",
)  # fmt: skip
@click.option("--split", type=click.Choice(("train", "test", "all")),
    help="Split of the dataset.  [default: test, if there is one]",
)  # fmt: skip
@click.option("--photos", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Base folder of the file names in LIST.json.  [default: its folder]",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Number of photos, evenly spread over the dataset.")
@click.option("--reader", is_flag=True,
    help="Also let the model of [llm.vision] choose among the candidates of each preset.",
)  # fmt: skip
@click.option("--comparisons", is_flag=True,
    help="Instead of presets: the paper's comparisons of readers (no retrieval, direct RAG, four kinds of context, "
    "5, 10 and 15 candidates).",
)  # fmt: skip
@click.option("--reader-samples", type=click.IntRange(1), default=1, show_default=True, metavar="N",
    help="Model calls per photo, each with the candidates in another order.",
)  # fmt: skip
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before the reader costs more.")
@click.option("--offline", is_flag=True, help="Use cached replies of the reader only.")
@options.format_option("table", "csv", "json")
@click.pass_context
def species(
    ctx: click.Context,
    dataset: Path,
    kb: Path | None,
    presets: tuple[str, ...],
    ablation: bool,
    anchors: tuple[str, ...],
    train: Path | None,
    split: str | None,
    photos: Path | None,
    limit: int | None,
    reader: bool,
    comparisons: bool,
    reader_samples: int,
    max_cost: float | None,
    offline: bool,
    form: str,
) -> None:
    """Measure the accuracy of species identification.

    The dataset is a folder with one folder per species (with or without train and test above them), CUB_200_2011, or
    val.json or train.json of iNaturalist 2021 (birds only). Labels are scientific or English names. Skipped and
    reported: unmatched labels, reference photos of the knowledge base, and training photos of the encoders, with their
    near-duplicates. A folder with photos.csv and descriptions.jsonl follows the protocol of docs/results.md: test
    photos are those that the starter models were not trained on.

    Example: kb eval species CUB_200_2011 --preset text-only --preset vr-rag-v1
    """
    from cli.verbs.eval.species import evaluation as evaluating
    from cli.verbs.eval.species import tables

    settings = options.settings(kb=kb)
    method = options.method_settings("eval.species", EvaluationSettings)
    order = evaluating.Order(
        dataset=dataset,
        kb="the starter knowledge" if settings.kb is None else str(settings.kb),
        photos=photos,
        presets=tuple(dict.fromkeys(presets)) or _presets(reader=reader, comparisons=comparisons),
        ablation=ablation,
        vocabulary=method.vocabulary,
        texts=method.texts,
        split=split,
        limit=limit,
        keep_leaks=method.keep_leaks,
        n_resamples=method.resamples,
        seed=method.seed,
        anchors=tuple(dict.fromkeys(anchors)) or ("kb",),
        train=train,
        readers=ReaderOrder(
            is_asked=reader or comparisons,
            comparisons=comparisons,
            contexts=method.reader_contexts,
            ks=tuple(dict.fromkeys(method.reader_candidates)),
            alone=method.reader_alone,
            changes=_reader_settings_given(),
            n_samples=reader_samples,
            max_cost=max_cost,
            offline=offline,
        ),
    )
    evaluating.check(order, has_presets=bool(presets))
    with ExitStack() as stack:
        store = stack.enter_context(wiring.opened(settings))
        asked = evaluating.asked(order, store.taxon_ids)
        asking = None
        if order.readers.is_asked:
            asking = stack.enter_context(
                reader_wiring.asking(settings, store, n_samples=reader_samples, max_cost=max_cost, offline=offline)
            )
        counts = partial(counted_calls, quiet=options.invocation().quiet)
        report = evaluating.evaluated(order, store, asked, counts, asking)
    for line in evaluating.warnings(report):
        output.warn(line)
    if form == "json":
        output.write(output.as_json(tables.payload(report)))
    elif form == "csv":
        output.write_rows(tables.as_csv(report))
    else:
        output.write(tables.as_text(report))
    if report.unreadable:
        ctx.exit(EXIT_PARTLY)


def _presets(*, reader: bool, comparisons: bool) -> tuple[str, ...]:
    if comparisons:
        return COMPARED_PRESETS
    return READ_PRESETS if reader else PRESETS


def _reader_settings_given() -> tuple[str, ...]:
    """Return the settings of the reader given by `--set`."""
    return tuple(key for key in options.invocation().set if key.startswith("reader_"))
