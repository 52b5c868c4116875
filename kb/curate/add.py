"""Addition of the user's own texts and photos to species and terms, without training."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from rapidfuzz.distance import OSA

from data.codec import dumps, loads
from data.contracts import Checklist, Encoders
from data.errors import BadImage, BadInput, StoreError
from data.files import sha256_hex, writer_lock
from data.lexicon.words import GENERAL, group_of_taxon
from data.records import HIGHER_RANKS, Added, Anchor, Article, Source, Statement, Summary, TakenText, Taxon, Term
from kb.checklist.names import fold
from kb.distill import AS_IS
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.sentences import split_sentences
from kb.distill.terms import term_from_article, term_id
from kb.pipeline.builder import begin, rolled_back_if_empty, run_stages
from kb.pipeline.stages.index import assemble
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import SMALLEST_SIDE_PX
from kb.sources.folder import OwnSource, read_own_photo
from kb.sources.plain_text import parse_text
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step, fingerprint, ledger_so_far
from kb.store.rows import entry_of, subject_of
from kb.store.stage_outputs import STAGE, AddedText, Addition, additions, removed, with_own_names

MAX_TEXT_CHARACTERS = 1_000_000
Withdrawn = Callable[[str, Anchor], bool]
Credited = TypeVar("Credited", Anchor, Source)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnText:
    """A text to add, with its origin as `title`."""

    text: str
    title: str
    licence: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPhoto:
    """A photo to add, with its attribution."""

    path: Path
    author: str | None = None
    licence: str | None = None
    url: str | None = None


def add(
    path: str | Path,
    subject: Taxon | str,
    encoders: Encoders,
    *,
    texts: Sequence[OwnText] = (),
    photos: Sequence[OwnPhoto] = (),
    as_is: bool = False,
) -> Added:
    """Add your own texts and photos to a knowledge base and return the result.

    They complement those of a source, and updates keep them. A text or photo that is added again replaces itself; the
    parts of its credit that are not given stay. A species that is there already takes the higher taxa of the given one;
    if these change the group of its words, its earlier texts are read again. A new one takes those of its genus. A
    removed species or term is no longer left out by builds.

    Args:
        path: the knowledge base; created if it does not exist.
        subject: a species, of any checklist or none, or the name of a term.
        encoders: the encoders of the knowledge base.
        texts: descriptions of a species, or exactly one definition of a term.
        photos: photos of the species.
        as_is: whether to keep every sentence, instead of the visual ones.

    Raises:
        BadInput: if a text has no usable sentence, or a photo cannot be read; nothing is added then.
        StoreError: if the ledger is missing or damaged, or a lost photo of the species keeps it as it was.
        SpaceMismatch: if the knowledge base was built with other encoders.
        KnowledgeBaseLocked: if another process is writing to it.
    """
    added = store_addition(path, subject, encoders, texts=texts, photos=photos, as_is=as_is)
    require_shown(Path(path), encoders, added)
    return added


def store_addition(
    path: str | Path,
    subject: Taxon | str,
    encoders: Encoders,
    *,
    texts: Sequence[OwnText] = (),
    photos: Sequence[OwnPhoto] = (),
    as_is: bool = False,
) -> Added:
    """Add texts and photos as `add` does, also where a lost photo keeps the subject as it was."""
    (added,) = _stored(path, [_Part(subject, texts, photos, as_is)], encoders)
    return added


def add_photos(
    path: Path, photos: Sequence[tuple[Taxon, Sequence[OwnPhoto]]], encoders: Encoders, is_withdrawn: Withdrawn
) -> list[Added]:
    """Add photos to several species at once, as `add` does for one, and return the result for each.

    Own photos leave a species for which `is_withdrawn` is true of its name and the photo.

    Raises:
        BadInput, StoreError, SpaceMismatch, KnowledgeBaseLocked: as `add`.
    """
    found = _stored(path, [_Part(taxon, (), own, False) for taxon, own in photos], encoders, is_withdrawn)
    for added in found:
        require_shown(path, encoders, added)
    return found


@dataclass(frozen=True, slots=True)
class _Part:
    subject: Taxon | str
    texts: Sequence[OwnText]
    photos: Sequence[OwnPhoto]
    as_is: bool

    @property
    def key(self) -> str:
        return term_id(self.subject) if isinstance(self.subject, str) else self.subject.taxon_id


def _stored(
    path: str | Path, parts: Sequence[_Part], encoders: Encoders, is_withdrawn: Withdrawn = lambda *_: False
) -> list[Added]:
    """Write all parts, and publish them together."""
    pictures = [[_read_photo(photo, part.key) for photo in part.photos] for part in parts]
    layout = Layout(Path(path))
    layout.claim()
    with writer_lock(layout.lock), rolled_back_if_empty(layout):
        is_new = not layout.vectors.exists()  # which every knowledge base with contents has, and a ledger then too
        info = begin(layout, OwnSource(), encoders)
        with closing(Ledger(layout.ledger, create=is_new)) as ledger:
            was_there = {entry.subject_id for entry in ledger.entries()}
            _withdraw(ledger, is_withdrawn)
            noted = [_noted(layout, ledger, part, own) for part, own in zip(parts, pictures, strict=True)]
            run_stages(BuildRun(layout=layout, info=info, ledger=ledger, encoders=encoders), ("encode", "index"))
            ledger.checkpoint()
            return [_shown(ledger, part.key, was_there, added) for part, added in zip(parts, noted, strict=True)]


def _withdraw(ledger: Ledger, is_withdrawn: Withdrawn) -> None:
    names = ledger.subject_names("taxon")
    for key, before in additions(ledger).items():
        left = tuple(photo for photo in before.anchors if not is_withdrawn(names.get(key, ""), photo))
        if len(left) < len(before.anchors):
            output = dumps(replace(before, anchors=left))
            ledger.record([Step(subject_id=key, stage=STAGE, fingerprint=fingerprint(output), output=output)])


def _noted(layout: Layout, ledger: Ledger, part: _Part, pictures: Sequence[tuple[Anchor, bytes]]) -> Added:
    """Write a part to the ledger, and return the result so far."""
    before = additions(ledger).get(part.key, Addition())
    earlier_credits = _credits(before)
    subject, key = part.subject, part.key
    held = None
    taken: tuple[TakenText, ...] = ()
    n_read_again = 0
    if isinstance(subject, str):
        addition = _with_term(layout, subject, part.texts, part.photos, as_is=part.as_is)
    else:
        taxa = {each: loads(Taxon, record) for each, record in ledger.subjects("taxon").items()}
        held = taxa.get(key)
        subject = with_lineage(held, subject if held else with_relatives(subject, list(taxa.values())))
        read = [_read_text(subject, text, as_is=part.as_is) for text in part.texts]  # all, before any is written
        taken = tuple(_taken(article, summary) for article, summary in read)
        new = [_written_text(layout, article, summary) for article, summary in read]
        for _, content in pictures:
            layout.anchors.write(content)
        earlier, n_read_again = _read_again(layout, before, held, subject)
        addition = _merged(earlier, new, [anchor for anchor, _ in pictures], subject)
    name = subject if isinstance(subject, str) else subject.scientific_name
    was_removed = name in removed(ledger)
    _note(ledger, subject, key, name, addition)
    names, lineage = _news(held, subject) if isinstance(subject, Taxon) else ((), {})
    return Added(
        subject_id=key,
        name=name,
        is_new=False,
        new_texts=len({each.sha256 for each in addition.texts} - {each.sha256 for each in before.texts}),
        new_photos=len({each.anchor_id for each in addition.anchors} - {a.anchor_id for a in before.anchors}),
        new_credits=sum(credit != earlier_credits.get(each, credit) for each, credit in _credits(addition).items()),
        anchors=len(addition.anchors),
        was_removed=was_removed,
        new_names=names,
        lineage=lineage,
        taken=taken,
        read_again=n_read_again,
    )


def _shown(ledger: Ledger, key: str, was_there: Collection[str], added: Added) -> Added:
    """Return the result with the state that readers see.

    Raises:
        StoreError: if they see nothing of it.
    """
    shown, text, n_anchors = shown_in(ledger, key)
    addition = additions(ledger).get(key, Addition())
    if shown is None and (addition.texts or addition.anchors):
        raise StoreError(f"{key} was not added", hint="kb status lists what failed; then run kb add again")
    is_new = key not in was_there
    return replace(
        added,
        name=shown or added.name,
        is_new=is_new and shown is not None,
        text=text,
        anchors=n_anchors,
        new_names=() if is_new else added.new_names,
        lineage={} if is_new else added.lineage,
    )


def _read_photo(photo: OwnPhoto, key: str) -> tuple[Anchor, bytes]:
    credit = {"url": photo.url, "author": photo.author, "licence": photo.licence}
    try:
        anchor, content, (width, height) = read_own_photo(photo.path, key, **credit)
    except BadImage as error:  # names the photo
        raise BadInput(str(error), hint="Nothing was added.") from error
    except OSError as error:
        raise BadInput(f"{photo.path} cannot be read: {error.strerror}", hint="Nothing was added.") from error
    if min(width, height) < SMALLEST_SIDE_PX:
        sides = f"expected a side of at least {SMALLEST_SIDE_PX} px, got {width} x {height}"
        raise BadInput(f"{photo.path}: {sides}", hint="Nothing was added.")
    return anchor, content


def with_lineage(held: Taxon | None, given: Taxon) -> Taxon:
    """Return the species of a knowledge base with the higher taxa and English names of a given one beside its own.

    A given taxon replaces the held one of its rank.
    """
    if held is None:
        return given
    ranks = {**held.lineage, **given.lineage}
    names = tuple(dict.fromkeys((*held.common_names, *given.common_names)))
    order = (*(rank for rank in ranks if rank not in HIGHER_RANKS), *HIGHER_RANKS)
    lineage = {rank: ranks[rank] for rank in order if rank in ranks}
    return replace(held, common_names=names, lineage=lineage).with_names(given.names_by_language)


def _news(held: Taxon | None, taxon: Taxon) -> tuple[tuple[str, ...], dict[str, str]]:
    names = tuple(name for name in taxon.common_names if held is None or name not in held.common_names)
    lineage = {rank: name for rank, name in taxon.lineage.items() if held is None or held.lineage.get(rank) != name}
    return names, lineage


def _read_again(layout: Layout, before: Addition, held: Taxon | None, taxon: Taxon) -> tuple[Addition, int]:
    """Return earlier additions with their summaries in the words of the new group, and the number read again.

    A text that says nothing on looks in the new words keeps its summary.
    """
    if held is None or group_of_taxon(held.lineage) == group_of_taxon(taxon.lineage):
        return before, 0
    texts, n_again = [], 0
    for text in before.texts:
        again = None
        if text.summary is not None and text.summary.distiller != AS_IS:
            plain = layout.articles.read(text.sha256).decode()
            article = Article(source=replace(text.source, revision=_revision(plain)), text=plain, sections=())
            again = ExtractiveDistiller().distil(article, taxon)
        n_again += again is not None
        texts.append(text if again is None else replace(text, summary=replace(again, scope="description")))
    return replace(before, texts=tuple(texts)), n_again


def _taken(article: Article, summary: Summary) -> TakenText:
    spans = split_sentences(article.text, 0, len(article.text))
    cited = {span for statement in summary.statements for span in statement.evidence}
    return TakenText(title=article.source.title, sentences=len(cited & set(spans)), of=len(spans))


def _article(text: OwnText) -> Article:
    if not text.text.strip() or "\0" in text.text or len(text.text) > MAX_TEXT_CHARACTERS:
        raise BadInput(f"{text.title}: expected a text of 1 to {MAX_TEXT_CHARACTERS:,} characters")
    plain, sections = parse_text(text.text)
    source = Source(title=text.title, url=text.url, revision=_revision(plain), licence=text.licence)
    return Article(source=source, text=plain, sections=sections)


def _revision(text: str) -> int:
    return int(sha256_hex(text)[:12], 16)  # the distiller takes a text without a revision for facts


def _read_text(taxon: Taxon, text: OwnText, *, as_is: bool) -> tuple[Article, Summary]:
    article = _article(text)
    summary = _word_for_word(article) if as_is else ExtractiveDistiller().distil(article, taxon)
    if summary is None:
        hint = "Nothing was added; --as-is keeps every sentence."
        if is_foreign(article.text):
            raise BadInput(
                f"{text.title}: expected a text in English, which the extractive distiller reads",
                hint=f"{hint} A knowledge base built with --distiller model reads other languages (--page FILE).",
            )
        if group_of_taxon(taxon.lineage) == GENERAL:
            above = ", ".join(f"{rank} {name}" for rank, name in taxon.lineage.items())
            hint = (
                f"There are no words for looks of its own group ({above}), so it was read with those for any animal. "
                f"{hint} --lineage class=NAME or order=NAME states the group."
            )
        raise BadInput(f"{text.title}: no sentence describes the appearance of {taxon.common_name}", hint=hint)
    return article, summary


def _written_text(layout: Layout, article: Article, summary: Summary) -> AddedText:
    return AddedText(
        sha256=layout.articles.write(article.text.encode()),
        length=len(article.text),
        source=replace(article.source, revision=None),
        summary=replace(summary, scope="description"),
    )


def _word_for_word(article: Article) -> Summary | None:
    spans = split_sentences(article.text, 0, len(article.text))
    statements = tuple(
        Statement(text=" ".join(article.text[span.start : span.end].split()), evidence=(span,)) for span in spans
    )
    return Summary(statements=statements, scope="description", distiller=AS_IS) if statements else None


def _with_term(
    layout: Layout, name: str, texts: Sequence[OwnText], photos: Sequence[OwnPhoto], *, as_is: bool
) -> Addition:
    if photos or len(texts) != 1:
        raise BadInput(f"Term {name!r}: expected one text and no photo, got {len(texts)} and {len(photos)}")
    article = _article(texts[0])
    if as_is:
        definition = " ".join(article.text.split())
        term: Term | None = Term(term_id=term_id(name), name=name, definition=definition, source=article.source)
    else:
        term = term_from_article(name, article)
    if term is None:
        hint = "Nothing was added; --as-is keeps the whole text."
        raise BadInput(f"{texts[0].title}: no sentence defines {name}", hint=hint)
    # `term_from_article` takes the title for an alias, but here it is a file name.
    aliases = tuple(alias for alias in term.aliases if alias != article.source.title)
    source = replace(article.source, revision=None)
    text = AddedText(sha256=layout.articles.write(article.text.encode()), length=len(article.text), source=source)
    return Addition(texts=(text,), term=replace(term, aliases=aliases, source=source))


def _merged(before: Addition, texts: Sequence[AddedText], anchors: Sequence[Anchor], taxon: Taxon) -> Addition:
    by_text = {text.sha256: text for text in before.texts}
    by_photo = {anchor.anchor_id: anchor for anchor in before.anchors}
    # Without a new credit the earlier one stays: a photo of somebody else must not become the user's own.
    for text in texts:
        held = by_text.get(text.sha256)
        source = text.source if held is None else _credited(text.source, held.source, "url", "licence")
        by_text[text.sha256] = replace(text, source=source)
    for anchor in anchors:
        by_photo[anchor.anchor_id] = _credited(anchor, by_photo.get(anchor.anchor_id), "page_url", "author", "licence")
    return Addition(
        texts=tuple(by_text.values()),
        anchors=tuple(by_photo.values()),
        common_names=tuple(dict.fromkeys((*before.common_names, *taxon.common_names))),
    )


def _credited(new: Credited, held: Credited | None, *names: str) -> Credited:
    return new if held is None else replace(new, **{n: getattr(held, n) for n in names if getattr(new, n) is None})


def _credits(addition: Addition) -> dict[str, tuple[str | None, ...]]:
    photos = {each.anchor_id: (each.page_url, each.author, each.licence) for each in addition.anchors}
    return {**photos, **{each.sha256: (each.source.url, each.source.licence) for each in addition.texts}}


def _note(ledger: Ledger, subject: Taxon | str, key: str, name: str, addition: Addition) -> None:
    output = dumps(addition)
    with ledger.transaction():
        if isinstance(subject, str):
            if key not in ledger.subjects("term"):
                ledger.add_subjects([(key, "term", subject, "")])
        else:
            taxon = with_own_names(subject, addition)  # which `with_lineage` returned
            ledger.add_subjects([(key, "taxon", taxon.scientific_name, dumps(taxon))])
        ledger.drop_left_out([name])
        if addition != Addition(common_names=addition.common_names):
            ledger.record([Step(subject_id=key, stage=STAGE, fingerprint=fingerprint(output), output=output)])


def shown_in(ledger: Ledger, key: str) -> tuple[str | None, str, int]:
    """Return the name of a finished species or term, its summary or definition, and the number of its photos."""
    entry = ledger.entry(key)
    subject = subject_of(entry) if entry is not None else None
    if isinstance(subject, Term):
        return subject.name, subject.definition, 0
    if entry is None or subject is None:
        return None, "", 0
    return entry.name, subject.summary.text if subject.summary is not None else "", len(subject.anchors)


def require_shown(path: Path, encoders: Encoders, added: Added) -> None:
    """Raise `StoreError` unless readers see an addition; a photo that cannot be encoded keeps the subject as it was."""
    layout = Layout(path)
    with ledger_so_far(layout.ledger) as ledger:
        entry = ledger.entry(added.subject_id) if ledger is not None else None
        if ledger is None or entry is None:
            return
        run = BuildRun(layout=layout, info=layout.require(), ledger=ledger, encoders=encoders)
        steps = [ledger.step(added.subject_id, "encode", collection) for collection in run.collections]
        errors = [step.error for step in steps if step is not None and step.status == "failed"]
        if not errors or [entry_of(subject) for subject in assemble(run).of([added.subject_id])] == [entry]:
            return
        own = additions(ledger).get(added.subject_id, Addition()).anchors
        if all(photo.sha256 is None or layout.anchors.is_whole(photo.sha256) for photo in own):
            remedy = "kb build fetches the lost photo again and then shows the addition."
        else:
            remedy = "Your own photo is lost: add it again with kb add."
        raise StoreError(
            f"{added.name} is shown without the addition: {errors[0]}", hint=f"The addition is kept. {remedy}"
        )


N_COMPARED = 5  # nearest names of the checklist
MOST_SLIPS = 2  # letters of a name that differ from one of the checklist


def with_relatives(species: Taxon, held: Sequence[Taxon]) -> Taxon:
    """Return a species with the higher taxa that all held species of its genus share, unless its own differ."""
    genus = species.lineage.get("genus")
    lineages = [other.lineage for other in held if genus and other.lineage.get("genus") == genus]
    if not lineages:
        return species
    shared = {rank: name for rank, name in lineages[0].items() if all(each.get(rank) == name for each in lineages)}
    agrees = all(shared.get(rank, name) == name for rank, name in species.lineage.items())
    return replace(species, lineage={**shared, **species.lineage}) if agrees else species


def near_names(species: Taxon, held: Iterable[Taxon], checklist: Checklist) -> list[str]:
    """Return the names of held species one letter from that of a new one, and of listed ones up to two letters."""
    own = fold(species.scientific_name)
    # Also two letters that are swapped. Names of listed species as they are found: with synonyms and former genera.
    near = [other.scientific_name for other in held if OSA.distance(own, fold(other.scientific_name)) == 1]
    for name in checklist.suggest(species.scientific_name, N_COMPARED):
        found = checklist.find(name)
        if found is not None and found.rank == "species" and 0 < OSA.distance(own, fold(name)) <= MOST_SLIPS:
            near.append(name)
    return list(dict.fromkeys(near))


_WORD: Final = re.compile(r"[^\W\d_]+")


_ENGLISH: Final = "the and of is are has have with its it from by an or which their they without"
_OTHERS: Final = """
der das ein eine einen und ist sind mit von auf dem des hat haben oder sich zur zum im nicht
le la les une du et est sont avec sur dans ou qui aux
el los las y es una con del por para su sus
il lo gli che di della delle sono nella
um uma são não dos das pela
de het een en zijn met op aan bij
och är med ett av på som inte og er af ikke
na się jest są nie oraz
ve bir ile olan ja ovat sekä
"""
"""Common small words of larger languages with Latin letters, none of them English."""
_MOST_BY_CHANCE: Final = 1
"""Such words in an English sentence without small words of its own, as in El Salvador."""


def is_foreign(text: str) -> bool:
    """Return whether a text is not English: in other letters, or with more small words of other languages.

    A text without small words, such as a list of marks, counts as English.
    """
    words = [word.lower() for word in _WORD.findall(text)]
    n_other_letters = sum(not word.isascii() and ord(word[0]) > 0x24F for word in words)
    n_others, n_english = (sum(map(set(known.split()).__contains__, words)) for known in (_OTHERS, _ENGLISH))
    return n_other_letters > len(words) / 2 or n_others > n_english + _MOST_BY_CHANCE
