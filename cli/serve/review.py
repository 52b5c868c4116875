"""Review: the birds of a folder in a grid, and what a person says of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args
from urllib.parse import urlencode

from cli.serve import jobs
from cli.serve.guard import whole
from data.codec import loads
from data.errors import BadInput, StoreError
from data.files import file_state, sha256_hex
from data.records import Answer, Correction, Identification, Taxon
from data.words import nearest
from recognize.corrections import NAME, NO_BIRD, UNKNOWN, Corrections, Line, said_before

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

RESULTS: Final = "fieldmark.jsonl"
"""The rows of a folder, as of `kb identify FOLDER --output FOLDER/fieldmark.jsonl`."""
PAGE: Final = 60  # birds
SURE: Final = 0.9  # of birds that are confirmed together
N_RECENT: Final = 5
_EVENT_S: Final = 5.0  # between the photos of a burst
Order = Literal["event", "species", "confidence", "odd"]
Tab = Literal["open", "done", "empty", "all"]
Verb = Literal["identify", "learn"]


@dataclass(frozen=True, slots=True)
class View:
    """The choices of a grid, as in its address: scientific names, and the first and last day."""

    tab: Tab
    order: Order
    family: str
    species: str
    since: str
    until: str
    first: int

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> View:
        """Return the choices in the parameters of a request; unknown ones are the usual."""
        tab, order = str(given.get("tab", "open")), str(given.get("order", "event"))
        return cls(
            tab=cast("Tab", tab if tab in get_args(Tab) else "open"),
            order=cast("Order", order if order in get_args(Order) else "event"),
            **{name: str(given.get(name, "")) for name in ("family", "species", "since", "until")},
            first=whole(given.get("first")),
        )

    def address(self, **other: object) -> str:
        """Return the query of an address with other choices, of the first page if they name none."""
        return "?" + urlencode({name: value for name, value in (asdict(self) | {"first": 0} | other).items() if value})


@dataclass(slots=True)
class Bird:
    """A bird in the grid."""

    key: str
    """Of the photo, the box and the answer, so that nothing is said of another bird or answer than the one shown."""
    row: Identification
    """The row of a model."""
    shown: Identification
    """The row with the label of a person, if it has one."""
    event: int = 0
    similarity: float | None = None
    """To the nearest reference photo of the first candidate."""
    size: int = 0
    """Bytes of the photo."""

    @property
    def is_done(self) -> bool:
        """Whether a person said what it is."""
        return self.shown.correction is not None


class Review:
    """A folder of photos, its rows, and the corrections beside them.

    The photos are identified by `kb identify` in a process of its own: what it has written stays when the server stops,
    and the next run goes on.

    Args:
        folder: the folder.
        given: options of the server that its verbs take too.
    """

    def __init__(self, folder: Path, given: Sequence[str]) -> None:
        self.folder, self.root, self._given = folder, _normal(folder), given
        self.corrections = Corrections(folder / NAME)
        self.run: jobs.Verb | None = None
        self.recent: list[Answer] = []
        self.birds: dict[str, Bird] = {}
        self.n_left_out = 0
        """Rows that cannot be read, and photos that are not in the folder any more."""
        self.n_lost = 0
        """Corrections of photos without a row: moved, edited, or not identified yet."""
        self._state: tuple[int, int] | None = None
        self._said: Mapping[int, Sequence[Line]] = {}

    # verbs

    def start(self, verb: Verb, *, again: bool = False, then: Callable[[], None] = lambda: None) -> None:
        """Run a verb, unless one is under way: identify photos that have no rows yet, or all `again`; or learn.

        `then` is called on a thread when the verb has ended well.
        """
        if self.is_running:
            return
        more: list[str | Path] = []
        if verb == "identify":
            more += ["--output", self.folder / RESULTS, "--set", "progress=jsonl"]
            more += ["--set", "resume=false"] if again else []
        self.run = jobs.Verb(verb, self.folder, *more, *self._given, then=then)

    @property
    def is_running(self) -> bool:
        """Whether a verb runs."""
        return self.run is not None and self.run.is_running

    # birds

    def read(self) -> list[Bird]:
        """Return the birds of all photos in the order of the file, read again if it or the corrections have changed."""
        self.corrections.refresh()
        state, said = file_state(self.folder / RESULTS), self.corrections.by_size
        if state != self._state:
            rows = list(self._rows())
            self.birds = {
                (key := key_of(row)): Bird(
                    key, row, row, event, _similarity(row), (file_state(Path(row.image)) or (0,))[0]
                )
                for row, event in zip(rows, _events(rows), strict=True)
            }
            self._state, self._said = state, {}
        if said is not self._said:
            for bird in self.birds.values():
                if bird.row.photos or said.get(bird.size) != self._said.get(bird.size):
                    bird.shown = self.corrections.applied(bird.row)
            self._said, sizes = said, {bird.size for bird in self.birds.values()}
            self.n_lost = sum(line.size not in sizes for line in self.corrections)
        return [*self.birds.values()]

    def _rows(self) -> Iterator[Identification]:
        """Yield the rows of the file as the model made them; the torn last line of a run is left out."""
        self.n_left_out, path = 0, self.folder / RESULTS
        found: dict[Path, list[Identification]] = {}
        *lines, last = path.read_bytes().split(b"\n") if path.is_file() else [b""]
        for text in [*lines, last] if last else lines:
            try:
                row = loads(Identification, text.decode())
            except (UnicodeDecodeError, StoreError):
                self.n_left_out += text is not last
                continue
            path = _normal(Path(row.image))
            if row.bird == 1:  # else a further one of the photo
                found.pop(path, None)
            found.setdefault(path, []).append(row if row.correction is None else uncorrected(row, row.correction))
        for path, birds in found.items():
            if path.is_relative_to(self.root) and path.is_file():
                yield from birds
            else:
                self.n_left_out += 1

    def chosen(self, view: View) -> list[Bird]:
        """Return the birds of a view, sorted; those without a date are on no day."""
        birds = [bird for bird in self.birds.values() if is_in(bird, view.tab)]
        if view.family:
            birds = [bird for bird in birds if bird.shown.answer and bird.shown.answer.family == view.family]
        if view.species:
            birds = [bird for bird in birds if bird.shown.answer and bird.shown.answer.name == view.species]
        if view.since or view.until:
            last = view.until or "9999"
            birds = [bird for bird in birds if bird.row.date and view.since <= bird.row.date[:10] <= last]
        if view.order == "species":
            n_of = Counter(name_of(bird) for bird in birds)
            return sorted(birds, key=lambda bird: (-n_of[name_of(bird)], name_of(bird), -_sure(bird)))
        if view.order == "confidence":
            return sorted(birds, key=lambda bird: -_sure(bird))
        if view.order == "odd":
            return sorted(birds, key=lambda bird: (bird.similarity is None, bird.similarity or 0))
        return sorted(birds, key=lambda bird: bird.event)

    def families(self) -> list[tuple[str, int]]:
        """Return the families of the birds that are left, with their numbers, by name."""
        left = [bird.shown.answer for bird in self.birds.values() if not bird.is_done]
        found = Counter(answer.family for answer in left if answer is not None)
        return sorted((name, n) for name, n in found.items() if name)

    def sure(self) -> list[tuple[Answer, list[str]]]:
        """Return the species with several birds left that the model is sure of, and these birds."""
        found: dict[str, tuple[Answer, list[str]]] = {}
        for bird in self.birds.values():
            answer = bird.shown.answer
            if not bird.is_done and answer is not None and answer.rank == "species" and _sure(bird) >= SURE:
                found.setdefault(answer.name, (answer, []))[1].append(bird.key)
        return sorted((each for each in found.values() if len(each[1]) > 1), key=lambda each: -len(each[1]))

    def of(self, keys: Sequence[str]) -> list[Bird]:
        """Return some birds.

        Raises:
            BadInput: without any, and if one is not in the folder any more, or has another answer now.
        """
        if not keys:
            raise BadInput("No bird is chosen.")
        if not self.birds.keys() >= set(keys):
            raise BadInput("These birds have changed since the page was loaded.", hint="Load it again.")
        return [self.birds[key] for key in keys]

    def say(self, birds: Sequence[Bird], label: Answer | None) -> None:
        """Write the label of some birds; without one, each is what the model says.

        Raises:
            BadInput: for one without a name to confirm, and for unreadable photos.
        """
        if any(bird.row.status == "error" for bird in birds):
            raise BadInput("Nothing can be said of a photo that cannot be read.")
        self.corrections.add([(bird.row, label or confirmed(bird.row)) for bird in birds])
        if label is not None:
            self.recent = [label, *(each for each in self.recent if each.name != label.name)][:N_RECENT]

    def majority(self, birds: Sequence[Bird]) -> Answer:
        """Return the most frequent species among some birds, that of the surer ones first.

        Raises:
            BadInput: if none has a name.
        """
        answers = [bird.shown.answer for bird in birds]
        named = [answer for answer in answers if answer is not None and answer.rank == "species"]
        if not named:
            raise BadInput("None of these birds has the name of a species.", hint="Give one of them a name first.")
        counts = Counter(answer.name for answer in named)
        best = max(named, key=lambda answer: (counts[answer.name], answer.confidence or 0))
        return plain(best)


def confirmed(row: Identification) -> Answer:
    """Return the answer of a model as the label of a person.

    Raises:
        BadInput: if it has none.
    """
    if row.status == "no_bird":
        return Answer(rank="none", name=NO_BIRD)
    if row.status == "unknown":
        return Answer(rank="none", name=UNKNOWN)
    if row.answer is None or row.answer.rank == "none":
        raise BadInput("There is no name to confirm for a bird that the model is not sure of.", hint="Give it a name.")
    return plain(row.answer)


def plain(answer: Answer) -> Answer:
    """Return an answer without its chances."""
    return Answer(
        rank=answer.rank, name=answer.name, common_name=answer.common_name, family=answer.family, order=answer.order
    )


def label_of(taxon: Taxon) -> Answer:
    """Return a taxon as a label."""
    rank = taxon.rank if taxon.rank in ("genus", "family", "order") else "species"
    english = taxon.common_names[0] if taxon.common_names else None
    family, order = taxon.lineage.get("family"), taxon.lineage.get("order")
    return Answer(rank=rank, name=taxon.scientific_name, common_name=english, family=family, order=order)  # type: ignore[arg-type]


def named(store: KnowledgeBase, text: str) -> list[Taxon]:
    """Return the species and groups of a name: of the knowledge base first, then of its checklist, in any language."""
    from kb.checklist.selection import taxa_named

    wanted = " ".join(text.split()).casefold()
    if not wanted:
        return []
    taxa = store.taxa()
    held = [taxon for taxon in taxa if any(name.casefold().startswith(wanted) for name in taxon.all_names)]
    within = [taxon for taxon in taxa if any(f" {wanted}" in f" {name.casefold()}" for name in taxon.names)]
    listed = taxa_named(store.checklist, text)
    if not (held or within or listed):
        near = map(store.checklist.find, store.checklist.suggest(text, 3))
        listed = [taxon for taxon in near if taxon is not None]
    found = {taxon.taxon_id: taxon for taxon in (*held, *within, *listed)}.values()
    return sorted(found, key=lambda taxon: not _is_called(taxon, wanted))[:8]


def _is_called(taxon: Taxon, wanted: str) -> bool:
    return any(name.casefold() == wanted for name in taxon.all_names)


def label_named(store: KnowledgeBase, text: str) -> Answer:
    """Return the label of a name that a person typed.

    Raises:
        BadInput: for a name that neither the knowledge base nor its checklist has, and for the beginning of several.
    """
    if text in (UNKNOWN, NO_BIRD):
        return Answer(rank="none", name=text)
    found = named(store, text)
    if found and (len(found) == 1 or _is_called(found[0], " ".join(text.split()).casefold())):
        return label_of(found[0])
    names = ", ".join(taxon.common_name for taxon in found) or ", ".join(
        nearest(text, [taxon.common_name for taxon in store.taxa()], 1)
    )
    raise BadInput(f'No species is called "{text[:100]}".', hint=f"Did you mean {names}?" if names else None)


def is_in(bird: Bird, tab: Tab) -> bool:
    """Return whether a bird is in a tab."""
    if tab in ("done", "all"):
        return bird.is_done or tab == "all"
    is_empty = bird.shown.status in ("no_bird", "error")
    return not bird.is_done and is_empty is (tab == "empty")


def name_of(bird: Bird) -> str:
    """Return the scientific name of a bird, or the status of one without a name."""
    return bird.shown.answer.name if bird.shown.answer and bird.shown.status == "identified" else bird.shown.status


def _sure(bird: Bird) -> float:
    answer = bird.shown.answer
    return 0.0 if answer is None or answer.rank == "none" else answer.confidence or 0.0


def _similarity(row: Identification) -> float | None:
    anchors = row.candidates[0].anchors if row.candidates else ()
    return max((anchor.similarity for anchor in anchors), default=None)


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))  # links stay as they are


def key_of(row: Identification) -> str:
    """Return the key of a bird in a page."""
    return sha256_hex(f"{row.image}\n{row.box}\n{said_before(row)}")[:16]


def uncorrected(row: Identification, correction: Correction) -> Identification:
    """Return a row with the answer of the model."""
    return replace(row, status=correction.status, answer=correction.answer, correction=None)


def _events(rows: Sequence[Identification]) -> list[int]:
    """Return the number of the burst of each row: photos of one folder, each within seconds of the one before."""
    moments, folders = [_moment(row) for row in rows], [str(Path(row.image).parent) for row in rows]
    found, event, before = [0] * len(rows), 0, -1
    for at in sorted(range(len(rows)), key=lambda at: (folders[at], moments[at], at)):
        is_close = folders[before] == folders[at] and 0 <= moments[at] - moments[before] <= _EVENT_S
        event += before < 0 or not (is_close or rows[before].image == rows[at].image)
        found[at], before = event, at
    return found


def _moment(row: Identification) -> float:
    """Return seconds since 1970, or below without a time of day, so that no two such photos are close."""
    try:
        return datetime.fromisoformat(row.date).timestamp() if row.date and "T" in row.date else -inf
    except ValueError:
        return -inf
