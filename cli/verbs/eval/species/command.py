"""`kb eval species`: how often the right species is named, on labelled photos as datasets lay them out."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from cli.common import options, output, wiring
from cli.common import readers as reader_wiring
from cli.common.progress import counted_calls
from cli.verbs.eval.species.datasets import ANCHOR_SETS
from cli.verbs.eval.species.readers import CONTEXTS, ReaderOrder

EXIT_PARTLY = 7
PRESETS = ("text-only", "anchors-only", "vr-rag-v1", "vr-rag-v2", "default")
CHOICES = (*PRESETS, "direct-rag")
READ_PRESETS = ("vr-rag-v1",)  # with a reader and no --preset: asking about all of them costs five times as much
COMPARED_PRESETS = ("vr-rag-v1", "direct-rag")


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|LIST.json")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@click.option("--preset", "presets", type=click.Choice(CHOICES), multiple=True,
    help="How photos are scored, more than one side by side; the others are tested against the first.  [default: all "
    "but direct-rag, the paper's retrieval by one encoder; with --reader vr-rag-v1]",
)  # fmt: skip
@click.option("--ablation", is_flag=True,
    help="Instead: each text-image encoder, pairs and all of them, each without and with the visual re-ranker.",
)  # fmt: skip
@click.option("--vocabulary", type=click.Choice(("both", "open", "bounded")), default="both", show_default=True,
    help="All species of the knowledge base can be the answer, or only those of the photos.",
)  # fmt: skip
@click.option("--texts", type=click.Choice(("descriptions", "names", "both")), default="descriptions",
    show_default=True, help="What photos are scored against: what is said of a species, or `a photo of NAME`.",
)  # fmt: skip
@click.option("--anchors", type=click.Choice(ANCHOR_SETS), multiple=True,
    help="Whose anchors, more than one as rows side by side: those of the knowledge base, up to three training photos "
    "a species of the dataset, or the lead image of its article alone where the dataset tells it.  [default: kb]",
)  # fmt: skip
@click.option("--train", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|LIST.json",
    help="The photos of --anchors train.  [default: those of the dataset's split train]",
)  # fmt: skip
@click.option("--split", type=click.Choice(("train", "test", "all")),
    help="Of the dataset.  [default: test where there is one]",
)  # fmt: skip
@click.option("--photos", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Where the file names of LIST.json start; without it the list's own folder.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="So many photos, evenly spread over the dataset.")
@click.option("--keep-leaks", is_flag=True,
    help="Measure photos too that are anchors of the knowledge base, or that the encoders were trained on.",
)  # fmt: skip
@click.option("--reader", is_flag=True,
    help="Also have the model of [llm.vision] choose among the candidates, for each way of ranking.",
)  # fmt: skip
@click.option("--comparisons", is_flag=True,
    help="Instead: the paper's comparisons of readers: without retrieval, direct RAG, told of the candidates by "
    "refined summary, first summary, chunks or article, and k of 5, 10, 15.",
)  # fmt: skip
@click.option("--reader-context", "contexts", type=click.Choice(CONTEXTS), multiple=True,
    help="What it is told of a candidate, more than one side by side.  [default: refined, the summary]",
)  # fmt: skip
@click.option("--reader-k", "ks", type=click.IntRange(1, 26), multiple=True, metavar="K",
    help="Candidates that it is shown (vr-rag-v1: the species of the K best chunks).  [default: 10; vr-rag-v2: 5]",
)  # fmt: skip
@click.option("--reader-alone", "alone", is_flag=True, help="Also without retrieval: it names what it sees.")
@click.option("--reader-samples", type=click.IntRange(1), default=1, show_default=True, metavar="N",
    help="How often it reads a photo, the candidates in another order each time.",
)  # fmt: skip
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before the reader costs more.")
@click.option("--offline", is_flag=True, help="Take the reader's replies from those that are kept, and ask nobody.")
@click.option("--prompts", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Prompts of one's own: read_photo.md, name_photo.md.",
)  # fmt: skip
@click.option("--resamples", type=click.IntRange(100), default=2_000, show_default=True,
    help="Of bootstrap and randomisation.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of both.")
@options.format_option("table", "csv", "json")
@click.pass_context
def species(
    ctx: click.Context,
    dataset: Path,
    kb: Path | None,
    presets: tuple[str, ...],
    ablation: bool,
    vocabulary: str,
    texts: str,
    anchors: tuple[str, ...],
    train: Path | None,
    split: str | None,
    photos: Path | None,
    limit: int | None,
    keep_leaks: bool,
    reader: bool,
    comparisons: bool,
    contexts: tuple[str, ...],
    ks: tuple[int, ...],
    alone: bool,
    reader_samples: int,
    max_cost: float | None,
    offline: bool,
    prompts: Path | None,
    resamples: int,
    seed: int,
    form: str,
) -> None:
    """Measure how often the right species is named.

    The dataset is a folder with one folder a species (under train and test, or not), CUB_200_2011, or iNaturalist
    2021's val.json or train.json, of which the birds are taken. Labels, scientific or English, are brought to species;
    what did not match is reported and left out, and so are photos that are anchors, or that the encoders were trained
    on (of the starter's this is known), or nearly.
    A folder with photos.csv and descriptions.jsonl is asked by the protocol of docs/results.md: for the photos that the
    starter pair was not trained on.

    Example: kb eval species CUB_200_2011 --preset text-only --preset vr-rag-v1
    """
    from cli.verbs.eval.species import evaluation as evaluating
    from cli.verbs.eval.species import tables

    settings = options.settings(kb=kb)
    order = evaluating.Order(
        dataset=dataset,
        kb="the starter knowledge" if settings.kb is None else str(settings.kb),
        photos=photos,
        presets=tuple(dict.fromkeys(presets)) or _presets(reader=reader, comparisons=comparisons),
        ablation=ablation,
        vocabulary=vocabulary,
        texts=texts,
        split=split,
        limit=limit,
        keep_leaks=keep_leaks,
        n_resamples=resamples,
        seed=seed,
        anchors=tuple(dict.fromkeys(anchors)) or ("kb",),
        train=train,
        readers=ReaderOrder(
            is_asked=reader or comparisons,
            comparisons=comparisons,
            contexts=contexts,
            ks=tuple(dict.fromkeys(ks)),
            alone=alone,
            n_samples=reader_samples,
            max_cost=max_cost,
            offline=offline,
            prompts=prompts,
        ),
    )
    evaluating.check(order, has_presets=bool(presets))
    with ExitStack() as stack:
        store = stack.enter_context(wiring.opened_or_starter(settings))
        asked = evaluating.asked(order, store.taxon_ids)
        asking = None
        if order.readers.is_asked:
            asking = stack.enter_context(
                reader_wiring.asking(
                    settings, store, n_samples=reader_samples, max_cost=max_cost, offline=offline, prompts=prompts
                )
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
