"""`kb learn`: birds that a person confirmed or corrected become reference photos."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.common import options, output, wiring
from cli.common.output import named_calls
from cli.common.settings import OWN
from data.errors import BadImage, BadInput, UsageError
from data.words import plural

if TYPE_CHECKING:
    from cli.common.settings import Settings
    from data.contracts import Checklist, Encoders
    from data.records import Taxon
    from kb.curate.add import OwnPhoto
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.confidence.labelled import LabelledSource
    from recognize.corrections import Line
    from recognize.scoring.knowledge import Knowledge

_MARGIN: Final = 0.15  # around a bird that is cut out, of the longer side of its box


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """Result of learning from confirmed birds."""

    kb: str
    """The knowledge base that learnt."""
    photos: int
    """Photos that are reference photos now and were none before."""
    species: int
    """Species of all confirmed birds."""
    new_species: tuple[str, ...]
    """Species that the knowledge base did not have."""
    skipped: dict[str, int]
    """Reason -> birds that taught nothing."""
    asked: int
    """Confirmed birds that were identified, each without its own photo; none that the encoders were trained on."""
    right_before: int
    """Those of which the right species came first in the knowledge base before."""
    right: int
    """Those of which it comes first now."""
    is_calibrated: bool
    """Whether the confidence was fitted to these birds; that needs 60 photos of 10 species."""


@click.command()
@click.argument("corrections", type=click.Path(exists=True, path_type=Path), metavar="FILE|FOLDER")
@options.kb_option("Knowledge base that learns.", needed=False)
@options.format_option("text", "json")
def learn(corrections: Path, kb: Path | None, form: str) -> None:
    """Learn from the birds that you confirmed or corrected in kb serve.

    FILE is a corrections.jsonl, or the FOLDER with it. The photos become reference photos of their species, as your
    own; species that the knowledge base lacks enter it. With 60 photos of 10 species, its confidence is fitted to them.
    The shipped knowledge stays as it was: a copy in Fieldmark's own folder learns, and is used from then on.

    Example: kb learn photos/ --kb my.kb
    """
    from recognize.corrections import NAME, Corrections

    file = corrections / NAME if corrections.is_dir() else corrections
    if not file.is_file():
        raise BadInput(f"{file} does not exist.", hint="kb serve --photos FOLDER is where birds are confirmed.")
    found = Corrections(file)
    settings, made = _with_own(options.settings(kb=kb))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldmark-")))
        learnt = _learn(found.path.parent, list(found), settings, folder)
    if made:
        output.note(
            f"The shipped knowledge was copied to {settings.kb}, which is used from now on; delete it to go back"
        )
    output.write_record(form, learnt, lambda: learnt_text(learnt))


def _with_own(settings: Settings) -> tuple[Settings, bool]:
    """Return the settings with the knowledge base that learns: without one, a copy of the shipped one."""
    if settings.kb is not None:
        return settings, False
    own, part = settings.home / OWN, settings.home / f"{OWN}.part"
    with wiring.open_knowledge_base(settings) as store:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(store.path, part)
    part.rename(own)
    return replace(settings, kb=own), True


def _learn(root: Path, lines: Sequence[Line], settings: Settings, folder: Path) -> Learnt:
    from kb.curate.add import add_photos

    path = wiring.required_path(settings)
    skipped: Counter[str] = Counter()
    with wiring.open_knowledge_base(settings) as store:
        encoders, held = wiring.encoders_of(store), {taxon.scientific_name: taxon for taxon in store.taxa()}
        birds = list(_birds(root, lines, held, store.checklist, folder, skipped))
        if not birds:
            raise UsageError("There is no bird with the name of a species to learn from.", hint=_reasons(skipped))
        before, _ = _first_right(store.path, settings, encoders, birds)
    by_species: dict[str, tuple[Taxon, list[OwnPhoto]]] = {}
    for taxon, photo in birds:
        by_species.setdefault(taxon.taxon_id, (taxon, []))[1].append(photo)
    added = add_photos(path, list(by_species.values()), encoders)
    right, asked = _first_right(path, settings, encoders, birds)
    return Learnt(
        kb=str(path),
        photos=sum(each.new_photos for each in added),
        species=len(by_species),
        new_species=tuple(each.name for each in added if each.is_new),
        skipped=dict(skipped),
        asked=asked,
        right_before=before,
        right=right,
        is_calibrated=_calibrated(path, settings, encoders, birds),
    )


def _birds(
    root: Path, lines: Sequence[Line], held: dict[str, Taxon], checklist: Checklist, folder: Path,
    skipped: Counter[str],
) -> Iterator[tuple[Taxon, OwnPhoto]]:  # fmt: skip
    """Yield species and photo of each bird, cut out where the photo has several."""
    from data.files import sha256_of_file
    from kb.checklist.selection import species_named
    from kb.curate.add import OwnPhoto
    from recognize.corrections import status_of_label

    n_birds = Counter(line.photo for line in lines)
    for number, line in enumerate(lines):
        label, photo = line.label, root / line.image
        if label is None or label.rank != "species":
            status = "" if label is None else status_of_label(label)
            skipped["no bird" if status == "no_bird" else "no name of a species"] += 1
        elif not photo.is_file() or sha256_of_file(photo) != line.photo:
            skipped["the photo is not there any more"] += 1
        else:
            lineage = {rank: name for rank in ("order", "family") if (name := getattr(label, rank))}
            taxon = held.get(label.name) or species_named(
                checklist, label.name, common_names=[label.common_name] if label.common_name else [], lineage=lineage
            )
            try:
                file = photo if n_birds[line.photo] == 1 else _cut_out(line, photo, folder / f"{number}.png")
            except BadImage:
                skipped["unreadable"] += 1
                continue
            yield taxon, OwnPhoto(path=file)


def _cut_out(line: Line, photo: Path, to: Path) -> Path:
    """Write the bird with some of its surroundings, and return the file."""
    from data.images.decode import read_image

    image, box = read_image(photo), line.box
    if box is None:
        return photo
    margin = _MARGIN * max(box.right - box.left, box.bottom - box.top)
    sides = (box.left - margin, box.top - margin, box.right + margin, box.bottom + margin)
    most = (image.width, image.height)
    image.crop(tuple(round(min(max(side, 0), most[at % 2])) for at, side in enumerate(sides))).save(to)  # type: ignore[arg-type]
    return to


Birds = Sequence[tuple["Taxon", "OwnPhoto"]]


def _first_right(path: Path, settings: Settings, encoders: Encoders, birds: Birds) -> tuple[int, int]:
    """Return the number of birds of which the right species comes first, each without its own photo, and of all.

    Birds of species that the knowledge base lacks are not asked, and photos that the encoders were trained on neither.
    """
    from recognize.confidence.labelled import known_rounds
    from recognize.scoring.presets import Settings as Scoring
    from recognize.scoring.presets import score

    n = 0
    with wiring.open_knowledge_base(replace(settings, kb=path)) as store:
        found, knowledge = _vectors(store, encoders, birds)
        for rows, without in known_rounds(knowledge, found.photos) if len(found.photos) else ():
            rankings = score("default", without, found.photos.queries[rows], Scoring(profile=encoders.profile))
            for ranking, truth in zip(rankings, found.photos.species[rows].tolist(), strict=True):
                n += len(ranking.species) > 0 and int(ranking.species[0]) == truth
        return n, len(found.photos)


def _vectors(store: KnowledgeBase, encoders: Encoders, birds: Birds) -> tuple[LabelledSource, Knowledge]:
    from recognize.confidence.labelled import photos_of_files
    from recognize.scoring.knowledge import read_knowledge

    knowledge = read_knowledge(store, encoders)
    held = [(photo.path, taxon.taxon_id) for taxon, photo in birds if taxon.taxon_id in store.taxon_ids]
    with named_calls(quiet=options.invocation().quiet) as show:
        found = photos_of_files(
            store, encoders, knowledge, [path for path, _ in held], [taxon_id for _, taxon_id in held],
            anchor_path=store.anchor_path, on_progress=show,
        )  # fmt: skip
    return found, knowledge


def _calibrated(path: Path, settings: Settings, encoders: Encoders, birds: Birds) -> bool:
    """Fit the confidence to the birds, if enough of them can be asked, and return whether it was."""
    from kb.store.calibrations import save_calibration
    from recognize.confidence.calibration import calibration_bytes
    from recognize.confidence.fit import calibrate

    with wiring.open_knowledge_base(replace(settings, kb=path)) as store:
        found, knowledge = _vectors(store, encoders, birds)
        try:
            made = calibrate(store, encoders, knowledge, found)
        except BadInput:  # too few photos, or of too few species
            return False
    save_calibration(path, "default", calibration_bytes(made.calibration))
    return True


def _reasons(skipped: Mapping[str, int]) -> str:
    return "; ".join(f"{reason}: {n}" for reason, n in skipped.items()) or "The file has no corrections."


def learnt_text(learnt: Learnt) -> str:
    """Return the result in words."""
    calibrated = "fitted to these birds" if learnt.is_calibrated else "as before: 60 photos of 10 species fit it"
    new = f"{plural(learnt.photos, 'new reference photo')} of {plural(learnt.species, 'species', 'species')}"
    right = f"{learnt.right} of {learnt.asked} birds, each without its own photo (before: {learnt.right_before})"
    return output.as_fields(
        {
            "learnt": new,
            "new species": ", ".join(learnt.new_species) or None,
            "skipped": _reasons(learnt.skipped) if learnt.skipped else None,
            "right species first": right if learnt.asked else None,
            "confidence": calibrated,
            "knowledge base": learnt.kb,
        }
    )
