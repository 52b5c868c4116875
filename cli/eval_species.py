"""`kb eval species`: how often the right species is named, on labelled photos as datasets lay them out."""

from __future__ import annotations

from pathlib import Path

import click

from cli import options, output, wiring
from cli.progress import counted_calls

EXIT_PARTLY = 7
PRESETS = ("text-only", "anchors-only", "vr-rag-v1", "vr-rag-v2", "default")


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="FOLDER|LIST.json")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@click.option("--preset", "presets", type=click.Choice(PRESETS), multiple=True,
    help="How photos are scored, more than one side by side; the others are tested against the first.  [default: all]",
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
@click.option("--split", type=click.Choice(("train", "test", "all")),
    help="Of the dataset.  [default: test where there is one]",
)  # fmt: skip
@click.option("--photos", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Where the file names of LIST.json start; without it the list's own folder.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="So many photos, evenly spread over the dataset.")
@click.option(
    "--keep-leaks", is_flag=True, help="Measure photos too that are anchors of the knowledge base, or nearly."
)
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
    split: str | None,
    photos: Path | None,
    limit: int | None,
    keep_leaks: bool,
    resamples: int,
    seed: int,
    form: str,
) -> None:
    """Measure how often the right species is named.

    The dataset is a folder with one folder a species (under train and test, or not), CUB_200_2011, or iNaturalist
    2021's val.json or train.json, of which the birds are taken. Labels, scientific or English, are brought to species;
    what did not match is reported and left out, and so are photos that the knowledge base holds as anchors, or nearly.

    Example: kb eval species CUB_200_2011 --preset text-only --preset vr-rag-v1
    """
    from cli import species_evaluating as evaluating

    settings = options.settings(kb=kb)
    order = evaluating.Order(
        dataset=dataset,
        kb="the starter knowledge" if settings.kb is None else str(settings.kb),
        photos=photos,
        presets=tuple(dict.fromkeys(presets)) or PRESETS,
        ablation=ablation,
        vocabulary=vocabulary,
        texts=texts,
        split=split,
        limit=limit,
        keep_leaks=keep_leaks,
        n_resamples=resamples,
        seed=seed,
    )
    evaluating.check(order, has_presets=bool(presets))
    with wiring.opened_or_starter(settings) as store:
        asked = evaluating.asked(order, store.taxon_ids)
        with counted_calls("photos", len(asked.photos), quiet=options.invocation().quiet) as progress:
            report = evaluating.evaluated(order, store, asked, progress)
    for line in evaluating.warnings(report):
        output.warn(line)
    if form == "json":
        output.write(output.as_json(evaluating.payload(report)))
    elif form == "csv":
        output.write_rows(evaluating.as_csv(report))
    else:
        output.write(evaluating.as_text(report))
    if report.unreadable:
        ctx.exit(EXIT_PARTLY)
