"""`kb calibrate`: confidence fitted to the species of one knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import exit_codes, options, output, wiring
from cli.common.progress import named_calls
from recognize.settings import PHOTO_PRESETS


@click.command()
@options.kb_option("Knowledge base; the calibration is kept in it.", needed=True)
@click.option("--preset", type=click.Choice(PHOTO_PRESETS), default="default", show_default=True,
              help="Scoring of photos.")  # fmt: skip
@click.option("--photos", type=click.Path(exists=True, path_type=Path), metavar="DIR|CSV",
    help="Labelled photos: a folder with one folder per species, or a table with the columns path and "
    "scientific_name.  [default: the reference photos, each identified without itself]",
)  # fmt: skip
@options.format_option("text", "json")
@click.pass_context
def calibrate(ctx: click.Context, kb: Path | None, preset: str, photos: Path | None, form: str) -> None:
    """Fit the confidence of kb identify to your knowledge base.

    At least 60 labelled photos of 10 species are needed; those like the photos that you will identify are best. Each is
    identified with its species in the knowledge base and without it. Of reference photos, only those of species with
    two or more count.

    The quality that is printed is that of photos of other species than those of the fit.

    Example: kb calibrate --kb birds.kb --photos labelled/
    """
    from cli.verbs.calibrate import report
    from cli.verbs.calibrate.labelled import read_labelled
    from kb.store.calibrations import save_calibration
    from recognize.calibration.calibrate import calibrate as fit
    from recognize.calibration.sources import photos_of_anchors, photos_of_files
    from recognize.confidence.calibration import calibration_bytes
    from recognize.scoring.knowledge import read_knowledge

    settings = options.settings(kb=kb)
    path = wiring.required_path(settings)
    with wiring.open_knowledge_base(settings) as store, named_calls(quiet=options.invocation().quiet) as show:
        encoders = wiring.encoders_of(store)
        knowledge = read_knowledge(store, encoders)
        if photos is None:
            found = photos_of_anchors(store, encoders, knowledge, anchor_path=store.anchor_path, on_progress=show)
        else:
            labelled = read_labelled(photos, store.taxa(), store.checklist)
            found = photos_of_files(
                store, encoders, knowledge, labelled.paths, labelled.taxon_ids, anchor_path=store.anchor_path,
                on_progress=show,
            )  # fmt: skip
        for line in report.skipped_lines(found.skipped, found.errors):
            output.warn(line)
        made = fit(store, encoders, knowledge, found, preset=preset, on_progress=show)
    save_calibration(path, preset, calibration_bytes(made.calibration))
    output.write_record(form, made.quality, lambda: report.quality_text(made.quality, path, preset))
    if found.errors:
        ctx.exit(exit_codes.PARTLY)
