"""`python -m papers`: published tables, data sets in the forms of `kb`, answers, feedback and readers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cli.common import options, output
from cli.main import CommandGroup, with_shared_options
from papers.answers.command import answers
from papers.catalogue import PAPERS
from papers.feedback.command import feedback
from papers.species.command import species
from papers.table import command_of


@click.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="SOURCE...")
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--split", type=click.Choice(("test", "validation")),
              help="Split of a file with several.  [default: test; of INQUIRE and MSR-VTT all]")  # fmt: skip
@click.option("--images", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="Folder of the images, or of the file names in a list.  [default: near SOURCE]")  # fmt: skip
def convert(sources: tuple[Path, ...], target: Path, split: str | None, images: Path | None) -> None:
    """Convert a published data set for kb: photos of species to FILE.csv, queries to FILE.json.

    Photos: CUB_200_2011, nabirds, birdsnap, Birds_25, LaSBiRD, val.json or train.json of iNaturalist 2021 (birds only),
    a test list of VR-RAG's code (fish_test.pkl), or a folder with photos.csv and descriptions.jsonl. Queries:
    INQUIRE-Rerank (its folder), INQUIRE-Rerank-Hard, Flickr30K, COCO, CIRR, CIRCO, VisDial, Visual-RAG, MSR-VTT.

    Example: python -m papers convert CUB_200_2011 cub.csv; kb eval species cub.csv
    """
    from papers.datasets.convert import convert as convert_files

    name = convert_files(sources, target, split=split, images=images, needs_images=images is not None)
    output.note(f"{name}: {target}")


@click.command("coco-hard")
@click.argument("captions", type=options.FILE)
@click.argument("runs", nargs=-1, type=options.FILE, metavar="[RUN]...")
def coco_hard(captions: Path, runs: tuple[Path, ...]) -> None:
    """Print COCO's captions with one of each photo, of these the 500 that TREC runs find hardest.

    Example: python -m papers coco-hard captions_val2017.json clip.trec e5v.trec > captions_hard.json
    """
    from papers.datasets.coco_hard import hardest

    output.write(json.dumps(hardest(captions, runs)))


class PaperGroup(CommandGroup):
    """The group of all papers, and of the commands beside them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the papers, and then the other commands."""
        return [*PAPERS, *OTHERS]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command."""
        click.Group.format_commands(self, ctx, formatter)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command with the options that all have."""
        command = command_of(cmd_name) if cmd_name in PAPERS else OTHERS.get(cmd_name)
        return None if command is None else with_shared_options(command)


OTHERS = {"answers": answers, "feedback": feedback, "species": species, "convert": convert, "coco-hard": coco_hard}
commands = PaperGroup(
    name="papers",
    help="Measure published tables with kb, and print our figures beside the published ones.\n\n"
    "A paper without a table lists its tables, data sets, models and cost.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

if __name__ == "__main__":
    sys.exit(commands.main(prog_name="python -m papers"))
