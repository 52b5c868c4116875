"""`kb learn`: birds that a person confirmed or corrected become reference photos."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.common import options, output, wiring
from cli.common.output import named_calls
from cli.common.settings import OWN
from data.errors import BadImage, BadInput, UsageError
from data.files import new_folder, sha256_hex, sha256_of_file
from data.images import RAW
from data.words import plural

if TYPE_CHECKING:
    from cli.common.settings import Settings
    from data.contracts import Checklist, Encoders
    from data.records import Anchor, Taxon
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.confidence.labelled import LabelledSource
    from recognize.corrections import Corrections, Line
    from recognize.scoring.knowledge import Knowledge

_MARGIN: Final = 0.15  # around a bird that is cut out, of its box
_MOST_PX: Final = 1024  # of its longer side


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """Result of learning from confirmed birds."""

    kb: str
    """The knowledge base that learnt."""
    photos: int
    """Photos that are reference photos now and were none before."""
    withdrawn: int
    """Photos that were reference photos before, and whose names were taken back since."""
    species: int
    """Species of all confirmed birds."""
    new_species: tuple[str, ...]
    """Species that the knowledge base did not have."""
    skipped: dict[str, int]
    """Reason -> birds that taught nothing."""
    asked: int
    """Confirmed birds that were identified, each without the photos of its burst; none of the encoders' training."""
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
    own, until you take that back and learn again; species that the knowledge base lacks enter it. With 60 photos of 10
    species, its confidence is fitted to them.
    The shipped knowledge stays as it was: a copy in Fieldmark's own folder learns, and is used from then on.

    Example: kb learn photos/ --kb my.kb
    """
    from recognize.corrections import NAME, Corrections

    file = corrections / NAME if corrections.is_dir() else corrections
    if not file.is_file():
        raise BadInput(f"{file} does not exist.", hint="kb serve --photos FOLDER is where birds are confirmed.")
    found, settings = Corrections(file), options.settings(kb=kb)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldmark-")))
        path = settings.kb or stack.enter_context(_copy_of_shipped(settings))
        learnt = _learn(found, replace(settings, kb=path), folder)
    if settings.kb is None:
        learnt = replace(learnt, kb=str(settings.home / OWN))
        output.note(f"The shipped knowledge was copied to {learnt.kb}, which is used from now on; delete it to go back")
    output.write_record(form, learnt, lambda: learnt_text(learnt))


@contextmanager
def _copy_of_shipped(settings: Settings) -> Iterator[Path]:
    """Give a copy of the shipped knowledge that is in use from the end of the block; errors leave none."""
    with new_folder(settings.home / OWN) as part:
        with wiring.open_knowledge_base(settings) as store:
            shutil.copytree(store.path, part, dirs_exist_ok=True)
        yield part


def _learn(corrections: Corrections, settings: Settings, folder: Path) -> Learnt:
    from kb.curate.add import OwnPhoto, add_photos
    from kb.store.calibrations import save_calibration
    from recognize.confidence.calibration import calibration_bytes
    from recognize.confidence.fit import calibrate

    path = wiring.required_path(settings)
    skipped: Counter[str] = Counter()
    with wiring.open_knowledge_base(settings) as store:
        encoders, held = wiring.encoders_of(store), {taxon.scientific_name: taxon for taxon in store.taxa()}
        birds = list(_birds(corrections, held, store.checklist, folder, skipped))
        ever, said = (
            {line.photo for line in corrections.lines},
            {(line.label and line.label.name, line.photo) for line in corrections},
        )
        said |= {(bird.taxon.scientific_name, bird.line.photo) for bird in birds}

        def is_withdrawn(name: str, anchor: Anchor) -> bool:
            photos = {anchor.sha256, anchor.file[:64]} & ever  # itself, or the one that it was cut out of
            return bool(photos) and not any((name, photo) in said for photo in photos)

        withdrawn = sum(
            is_withdrawn(entry.taxon.scientific_name, anchor)
            for entry in store.species(store.taxon_ids)
            for anchor in entry.anchors
        )
        if not birds and not withdrawn:
            raise UsageError("There is no bird with the name of a species to learn from.", hint=_reasons(skipped))
        right_before = _n_right(*_vectors(store, encoders, birds), encoders)
    by_species: dict[str, tuple[Taxon, list[OwnPhoto]]] = {}
    for bird in birds:
        by_species.setdefault(bird.taxon.taxon_id, (bird.taxon, []))[1].append(OwnPhoto(path=bird.file))
    added = add_photos(path, list(by_species.values()), encoders, is_withdrawn)
    with wiring.open_knowledge_base(settings) as store:
        found, knowledge = _vectors(store, encoders, birds)
        right, is_calibrated = _n_right(found, knowledge, encoders), True
        try:
            made = calibrate(store, encoders, knowledge, found)
        except BadInput:  # too few photos, or of too few species
            is_calibrated = False
    if is_calibrated:
        save_calibration(path, "default", calibration_bytes(made.calibration))
    return Learnt(
        kb=str(path),
        photos=sum(each.new_photos for each in added),
        withdrawn=withdrawn,
        species=len(by_species),
        new_species=tuple(each.name for each in added if each.is_new),
        skipped=dict(skipped),
        asked=len(found.photos),
        right_before=right_before,
        right=right,
        is_calibrated=is_calibrated,
    )


@dataclass(frozen=True, slots=True)
class _Bird:
    line: Line
    taxon: Taxon
    photo: Path
    file: Path
    """The photo, or the bird cut out of it."""


def _birds(
    corrections: Corrections, held: Mapping[str, Taxon], checklist: Checklist, folder: Path, skipped: Counter[str]
) -> Iterator[_Bird]:
    """Yield each bird with the name of a species, cut out where the photo has several."""
    from kb.checklist.selection import species_named
    from kb.sources.article_source import SMALLEST_SIDE_PX
    from kb.sources.folder import read_own_photo

    lines, root = list(corrections), corrections.path.parent
    n_birds = Counter(line.photo for line in lines)
    by_size: dict[int, list[Path]] = {}
    for file in filter(Path.is_file, root.rglob("*")):
        by_size.setdefault(file.stat().st_size, []).append(file)
    for line in lines:
        label, places = line.label, (root / line.image, *by_size.get(line.size, ()))
        photo = next((each for each in places if each.is_file() and sha256_of_file(each) == line.photo), None)
        if label is None or label.rank != "species":
            skipped[label.name if label and label.rank == "none" else "no name of a species"] += 1
        elif photo is None:
            skipped["the photo is not there any more"] += 1
        else:
            lineage = {rank: name for rank in ("order", "family") if (name := getattr(label, rank))}
            taxon = held.get(label.name) or species_named(
                checklist, label.name, common_names=[label.common_name] if label.common_name else [], lineage=lineage
            )
            is_alone = n_birds[line.photo] == line.n_birds == 1 and photo.suffix.lower() not in RAW
            try:
                file = photo if is_alone else _cut_out(line, photo, folder)
                *_, size = read_own_photo(file, taxon.taxon_id, url=None, author=None, licence=None)
            except (BadImage, OSError):
                skipped["unreadable"] += 1
                continue
            if min(size) < SMALLEST_SIDE_PX:
                skipped[f"smaller than {SMALLEST_SIDE_PX} px"] += 1
            else:
                yield _Bird(line, taxon, photo, file)


def _cut_out(line: Line, photo: Path, folder: Path) -> Path:
    """Write the bird with some of its surroundings, under the hash of the photo, and return the file."""
    from data.images.decode import read_image
    from data.images.views import crop_to

    image = read_image(photo)
    image = image if line.box is None else crop_to(image, line.box, _MARGIN)
    image.thumbnail((_MOST_PX, _MOST_PX))
    file = folder / f"{line.photo}-{sha256_hex(str(line.box))[:8]}.png"
    image.save(file)
    return file


def _n_right(found: LabelledSource, knowledge: Knowledge, encoders: Encoders) -> int:
    """Return the number of birds of which the right species comes first, each without the photos of its burst."""
    from recognize.confidence.labelled import known_rounds
    from recognize.scoring.presets import Settings, score

    n = 0
    for rows, without in known_rounds(knowledge, found.photos) if len(found.photos) else ():
        rankings = score("default", without, found.photos.queries[rows], Settings(profile=encoders.profile))
        for ranking, truth in zip(rankings, found.photos.species[rows].tolist(), strict=True):
            n += len(ranking.species) > 0 and int(ranking.species[0]) == truth
    return n


def _vectors(store: KnowledgeBase, encoders: Encoders, birds: Sequence[_Bird]) -> tuple[LabelledSource, Knowledge]:
    """Return the birds whose species the knowledge base has, and which the encoders were not trained on."""
    from recognize.confidence.labelled import photos_of_files
    from recognize.encounters import bursts
    from recognize.scoring.knowledge import read_knowledge

    knowledge = read_knowledge(store, encoders)
    held = [bird for bird in birds if bird.taxon.taxon_id in store.taxon_ids]
    paths = dict.fromkeys(str(bird.photo) for bird in held)
    burst_of = {photo: number for number, burst in enumerate(bursts(paths)) for photo in burst}
    with named_calls(quiet=options.invocation().quiet) as show:
        found = photos_of_files(
            store, encoders, knowledge, [bird.file for bird in held], [bird.taxon.taxon_id for bird in held],
            anchor_path=store.anchor_path, on_progress=show, groups=[burst_of[str(bird.photo)] for bird in held],
        )  # fmt: skip
    return found, knowledge


def _reasons(skipped: Mapping[str, int]) -> str:
    return "; ".join(f"{reason}: {n}" for reason, n in skipped.items()) or "The file has no corrections."


def learnt_text(learnt: Learnt) -> str:
    """Return the result in words."""
    calibrated = "fitted to these birds" if learnt.is_calibrated else "as before: 60 photos of 10 species fit it"
    new = f"{plural(learnt.photos, 'new reference photo')} of {plural(learnt.species, 'species', 'species')}"
    alone = "each without the photos of its burst"
    right = f"{learnt.right} of {learnt.asked} birds, {alone} (before: {learnt.right_before})"
    return output.as_fields(
        {
            "learnt": new,
            "taken back": plural(learnt.withdrawn, "reference photo") if learnt.withdrawn else None,
            "new species": ", ".join(learnt.new_species) or None,
            "skipped": _reasons(learnt.skipped) if learnt.skipped else None,
            "right species first": right if learnt.asked else None,
            "confidence": calibrated,
            "knowledge base": learnt.kb,
        }
    )
