"""`kb add`: your own texts and photos for a species or a term."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import options, output, wiring
from cli.common.language_models import open_distiller
from cli.common.reports import bird_model_text
from data.errors import UsageError
from data.records import HIGHER_RANKS
from data.words import plural
from recognize.settings import BIRD_PROFILE, GENERAL_PROFILE

if TYPE_CHECKING:
    from data.contracts import Checklist
    from data.records import Added, Taxon


@click.command()
@options.kb_option("Knowledge base; created if it does not exist.", needed=True)
@click.option("--name", metavar="NAME", help="Species: any name of the checklist, or genus and epithet; with "
              "--common-name or --lineage also one word.")  # fmt: skip
@click.option("--term", metavar="TERM", help="Term, instead of a species.")
@click.option("--common-name", "common_names", multiple=True, metavar="NAME", help="English name; the best one first.")
@click.option("--text", "texts", multiple=True, type=options.FILE, metavar="FILE", help="Description; may be repeated.")
@click.option("--photo", "photos", multiple=True, type=options.FILE, metavar="FILE", help="Photo; may be repeated.")
@click.option("--page", "pages", multiple=True, metavar="URL|FILE",
              help="Web page, or .html, .txt, .md or .pdf file, to summarise; may be repeated.")  # fmt: skip
@click.option("--author", metavar="NAME", help="Photo author.")
@click.option("--licence", metavar="NAME", help="Licence of text and photos, such as CC BY 4.0.")
@click.option("--url", metavar="URL", help="Web address of text and photos.")
@click.option("--as-is", is_flag=True, help="Keep every sentence of the text, not only descriptions of looks.")
@click.option("--lineage", multiple=True, metavar="RANK=NAME",
              help="Class, order, family or genus of a species that is in no checklist; may be repeated.")  # fmt: skip
@click.option("--contact", metavar="ADDRESS", help="Your address for the User-Agent of requests for pages.")
@options.profile_option
@options.format_option("text", "json")
def add(
    kb: Path | None,
    name: str | None,
    term: str | None,
    common_names: tuple[str, ...],
    texts: tuple[Path, ...],
    photos: tuple[Path, ...],
    pages: tuple[str, ...],
    author: str | None,
    licence: str | None,
    url: str | None,
    as_is: bool,
    lineage: tuple[str, ...],
    contact: str | None,
    profile: str | None,
    form: str,
) -> None:
    """Add a species, a term, your own texts and photos, or web pages; the next kb identify uses them.

    They are kept in addition to the content of the wiki, and survive updates. Adding the same file twice changes
    nothing. A name alone undoes kb remove: the next build takes the species in again. Web pages are fetched as their
    robots.txt allows, and kb update checks them again.

    Example: kb add --kb my.kb --name "Vanessa atalanta" --common-name "Red Admiral" --text admiral.txt --photo a.jpg
    """
    import kb as library
    from data.tables import read_text
    from kb.checklist.avilist import is_bird
    from kb.checklist.selection import species_named
    from kb.curate.add import near_names
    from kb.store.layout import Layout

    above = _lineage_of(lineage)
    if (name is None) == (term is None):
        raise UsageError("Specify either --name for a species or --term for a term.")
    if pages and (as_is or ((author or licence or url) and not (texts or photos))):
        wrong = (
            "--as-is keeps whole texts" if as_is else "--author, --licence and --url are for your own texts and photos"
        )
        raise UsageError(f"{wrong}; a --page is distilled and states its own licence.")
    if pages and term is not None and texts:
        raise UsageError("A term takes one --text or its --page, not both.")
    if term is not None and (photos or common_names or above):
        raise UsageError("A term takes no photos, common names or lineage.", hint="Add a species with --name.")
    settings = options.settings(kb=kb, profile=profile, contact=contact)
    path = wiring.required_path(settings)
    checklist = wiring.checklist_of(settings, path)
    subject = term or species_named(checklist, name or "", common_names=common_names, lineage=above)
    is_of_birds = isinstance(subject, str) or is_bird(subject)
    if checklist.group and not isinstance(subject, str):
        is_of_birds = is_of_birds or bool(near_names(subject, (), checklist))  # a misspelt bird is in no checklist
    own_profile = Layout(path).profile
    if own_profile == BIRD_PROFILE and not is_of_birds:
        output.warn(bird_model_text(1))
    is_new_kb = not Layout(path).toml.is_file()
    encoders = wiring.load_encoders(
        own_profile or settings.profile or (BIRD_PROFILE if is_of_birds else GENERAL_PROFILE)
    )
    own_texts = [library.OwnText(text=read_text(file), title=file.name, licence=licence, url=url) for file in texts]
    own_photos = [library.OwnPhoto(path=file, author=author, licence=licence, url=url) for file in photos]
    if pages:
        with ExitStack() as stack:
            # The distiller is the knowledge base's own.
            distilling = stack.enter_context(open_distiller(replace(settings, distiller=None), path))
            source = wiring.open_web(settings, stack)
            added = library.add_pages(
                path, subject, pages, source, encoders,
                texts=own_texts, photos=own_photos, distiller=distilling.distiller,
            )  # fmt: skip
    else:
        added = library.add(path, subject, encoders, texts=own_texts, photos=own_photos, as_is=as_is)
    if added.is_new and not isinstance(subject, str):
        _warn_of_new_name(subject, checklist, path)
    if is_new_kb and not options.invocation().quiet:
        _note_new(path)
    output.write_record(form, added, lambda: added_text(added))


def _note_new(path: Path) -> None:
    """Say that a knowledge base was made, with its contents: a mistyped --kb makes one too."""
    import kb as library

    with library.open(path) as store:
        counts = {"species": len(store.taxon_ids), "terms": len(store.terms())}
    held = " and ".join(f"{n:,} {noun}" for noun, n in counts.items())
    output.note(f"Made a new knowledge base, {path.absolute()}: it holds {held}. If you meant another, delete it")


def _warn_of_new_name(species: Taxon, checklist: Checklist, path: Path) -> None:
    """Warn of a new name that may be misspelt: near another, or not in a checklist of its group or genus."""
    from kb.curate.add import near_names
    from kb.pipeline.selection import held_species

    name = species.scientific_name
    if checklist.find(name) is not None:
        return
    others = [taxon for taxon in held_species(path) if taxon.taxon_id != species.taxon_id]
    if near := near_names(species, others, checklist):
        undo = f"kb remove {shlex.quote(name)} --kb {shlex.quote(str(path))}"
        output.warn(f"{name} is new. Did you mean {' or '.join(near)}? If so: {undo}")
    elif checklist.digest and (not checklist.group or checklist.find(name.split()[0]) is not None):
        output.warn(f"{name} is new and not in the checklist {checklist.name}")


def _lineage_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return rank -> name of `--lineage`, from the highest rank down."""
    found = {}
    for pair in pairs:
        rank, _, name = pair.partition("=")
        if rank not in HIGHER_RANKS or not name:
            raise UsageError(f"Expected --lineage RANK=NAME, got {pair!r}.", hint=f"Ranks: {', '.join(HIGHER_RANKS)}.")
        found[rank] = name
    return {rank: found[rank] for rank in HIGHER_RANKS if rank in found}


def added_text(added: Added) -> str:
    """Return the state of a species or term after the addition."""
    if not (added.is_new or added.text or added.anchors or added.new_names or added.lineage):
        if added.was_removed:
            return f"{added.name}: allowed again. Its texts and photos were deleted: add them again."
        return f"{added.name}: nothing added. Give it a --text, a --page or a --photo."
    new = [plural(n, noun) for noun in ("text", "page", "photo", "credit") if (n := getattr(added, f"new_{noun}s"))]
    return output.as_fields(
        {
            "new" if added.is_new else "added to": added.name,
            "added": ", ".join(new) or ("nothing new" if not (added.new_names or added.lineage) else None),
            "new names": ", ".join(added.new_names) or None,
            "new lineage": ", ".join(f"{rank} {name}" for rank, name in added.lineage.items()) or None,
            "sentences": "; ".join(f"{each.sentences} of {each.of} of {each.title}" for each in added.taken) or None,
            "read again": plural(added.read_again, "earlier text") if added.read_again else None,
            "reference photos": added.anchors or None,
            "text": output.wrapped(added.text),
        }
    )
