"""`kb eval species`: accuracy of species identification on labelled photos."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from cli.common import exit_codes, options, output, readers, wiring
from cli.common.progress import counted_calls
from data.errors import NothingReadable, UsageError
from recognize.evaluation.datasets import ANCHOR_SETS
from recognize.settings import EvaluationSettings

PRESETS = ("text-only", "anchors-only", "vr-rag-v1", "vr-rag-v2", "default")
CHOICES = (*PRESETS, "direct-rag")
READ_PRESETS = ("vr-rag-v1",)  # with a reader and no --preset: asking about all of them costs five times as much
COMPARED_PRESETS = ("vr-rag-v1", "direct-rag")


# Long: parse, wire, call and print; a part of it would take most of the options.
@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|TABLE")
@options.kb_option("Knowledge base.")
@click.option("--preset", "presets", type=click.Choice(CHOICES), multiple=True,
    help="Scoring of photos; repeat to compare with the first.  [default: all but direct-rag; with --reader vr-rag-v1]",
)  # fmt: skip
@click.option("--ablation", is_flag=True,
    help="Instead of presets: single text-image encoders, pairs and all, each with and without the visual re-ranker.",
)  # fmt: skip
@click.option("--anchors", type=click.Choice(ANCHOR_SETS), multiple=True,
    help="Reference photos; repeat to compare: of the knowledge base (kb), up to three training photos per species of "
    "the dataset (train), or a set that the table names (wiki).  [default: kb]",
)  # fmt: skip
@click.option("--train", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|TABLE",
    help="Photos of --anchors train.  [default: the split train of the dataset]",
)  # fmt: skip
@click.option("--split", type=click.Choice(("train", "test", "all")),
    help="Split of the dataset.  [default: test, if there is one]",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Number of photos, evenly spread over the dataset.")
@click.option("--reader", is_flag=True,
    help="Also let the model of [llm.vision] choose among the candidates of each preset.",
)  # fmt: skip
@click.option("--comparisons", is_flag=True,
    help="Instead of presets: the paper's comparisons of readers (no retrieval, direct RAG, four kinds of context, "
    "5, 10 and 15 candidates).",
)  # fmt: skip
@options.cost_options
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
    limit: int | None,
    reader: bool,
    comparisons: bool,
    max_cost: float | None,
    offline: bool,
    form: str,
) -> None:
    """Measure the accuracy of species identification.

    The dataset is a folder with one folder per species (with or without train and test above them), or a CSV table with
    the columns path and scientific_name or common_name (and split). Labels are names in the checklist or the knowledge
    base. Skipped and reported: unmatched labels, reference photos of the knowledge base, and training photos of the
    encoders, with their near-duplicates. Exit code 7 if a reader failed for some photos, 6 if for all.

    Example: kb eval species photos --preset text-only --preset default
    """
    from cli.verbs.eval.species import reader_tables, tables
    from recognize.evaluation import labelled
    from recognize.evaluation.datasets import read_dataset

    settings = options.settings(kb=kb)
    method = options.method_settings("eval.species", EvaluationSettings)
    anchors = tuple(dict.fromkeys(anchors)) or ("kb",)
    _check_train(train, anchors)
    has_reader = reader or comparisons
    _check_rankings(method, has_presets=bool(presets), ablation=ablation, comparisons=comparisons, anchors=anchors)
    _check_reader(ctx, has_reader=has_reader, ablation=ablation, comparisons=comparisons)
    default = COMPARED_PRESETS if comparisons else READ_PRESETS if reader else PRESETS
    request = labelled.LabelledRequest(
        presets=tuple(dict.fromkeys(presets)) or default,
        anchors=anchors,
        ablation=ablation,
        comparisons=comparisons,
        settings=method,
    )
    with ExitStack() as stack:
        stack.enter_context(output.log_to_stderr("recognize.evaluation"))
        store = stack.enter_context(wiring.open_knowledge_base(settings))
        read = read_dataset(dataset, split=split, train=train, anchors=anchors)
        labels = list(dict.fromkeys([*(photo.label for photo in read.photos), *read.covered]))
        names = wiring.match_labels(store, labels)
        taxa = {match.name: match.taxon for match in names.matched}
        selected = labelled.select_photos(read, taxa, frozenset(store.taxon_ids), limit=limit)
        measured = {photo.label for photo in read.photos}
        skipped = tables.Skipped(selected, tuple(name for name in names.unmatched if name.name in measured))
        if not selected.photos:
            raise NothingReadable(
                f"No photo of {dataset} shows a species of the knowledge base: {output.printable(skipped.text())}.",
                hint=tables.NAMES_HINT if skipped.unmatched else "Choose a knowledge base of these species with --kb.",
            )
        resources = None
        if has_reader:
            resources = stack.enter_context(
                readers.open_reader_resources(
                    settings, store, n_samples=method.reader_samples, max_cost=max_cost, offline=offline
                )
            )
        report = labelled.evaluate_photos(
            store,
            wiring.encoders_of(store),
            selected,
            request,
            anchor_path=store.anchor_path,
            progress=partial(counted_calls, quiet=options.invocation().quiet),
            resources=resources,
        )
    for line in tables.warnings(report, skipped, leaks_kept=method.keep_leaks):
        output.warn(line)
    name = "the starter knowledge" if settings.kb is None else str(settings.kb)
    if form == "json":
        output.write(output.as_json(tables.payload(report, skipped, kb=name, leaks_kept=method.keep_leaks)))
    elif form == "csv":
        output.write_rows(tables.as_csv(report))
    else:
        output.write(tables.as_text(report, kb=name, dataset=selected.kind))
    code = 0 if report.readers is None else reader_tables.exit_code(report.readers)
    if code or report.unreadable:
        ctx.exit(code or exit_codes.PARTLY)


def _check_train(train: Path | None, anchors: tuple[str, ...]) -> None:
    if train is not None and "train" not in anchors:
        raise UsageError("--train needs --anchors train.")


def _check_rankings(
    method: EvaluationSettings, *, has_presets: bool, ablation: bool, comparisons: bool, anchors: tuple[str, ...]
) -> None:
    if has_presets and (ablation or comparisons):
        raise UsageError(f"--{'ablation' if ablation else 'comparisons'} and --preset cannot be combined.")
    if comparisons and (len(anchors) > 1 or method.texts != "descriptions"):
        raise UsageError("--comparisons needs one set of --anchors, and the setting texts=descriptions.")
    if "chunks" in method.reader_contexts and method.texts != "descriptions":
        raise UsageError("The reader context chunks needs the setting texts=descriptions.")


def _check_reader(ctx: click.Context, *, has_reader: bool, ablation: bool, comparisons: bool) -> None:
    given = (key.removeprefix("eval.species.") for key in options.invocation().set)
    settings = [key for key in given if key.startswith("reader_")]
    if has_reader and ablation:
        raise UsageError("--ablation cannot be combined with --reader or --comparisons.")
    if comparisons and (own := [key for key in settings if key != "reader_samples"]):
        raise UsageError(
            f"--comparisons sets {own[0]} itself.", hint="Use --reader to choose the settings of the reader."
        )
    if not has_reader and (needing := [*options.given_options(ctx, readers.OPTIONS), *settings]):
        raise UsageError(f"{needing[0]} needs --reader or --comparisons.")
