"""Damaged bytes in any file that Fieldmark keeps are found, with a remedy, or change no answer."""

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import kb
from data.cache_file import CacheFile
from data.contracts import Encoders
from data.errors import FieldmarkError
from kb.checklist.shelf import Shelf
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.store.calibrations import save_calibration
from kb.store.knowledge_base import KnowledgeBase
from rerank import open_collection
from rerank.feedback.session import CollectionState, Session, Turn, read_session, write_session
from tests.damaged import damaged
from tests.faults.draw import Draw
from tests.kb.checklist.stored.checklist_files import darwin_core
from tests.pages import PageSource, made_up_taxa

pytestmark = pytest.mark.integration
N = 4
REMEDY = re.compile(r"repaired|filled again|restored|kb build|kb verify|kb calibrate|[Rr]emove|[Dd]elete|next build")
JUDGEMENTS = {f"key {n}": f"judgement {n} " * 9 for n in range(40)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    """A folder with one file or folder of every kind; tests must not write to it."""
    folder = tmp_path_factory.mktemp("whole")
    kb.build(folder / "a.kb", made_up_taxa(N), PageSource(), encoders, terms=[("Amplexus", None)])
    save_calibration(folder / "a.kb", "default", b'{"schema": 1, "chance": 0.75}\n')
    kb.export_bundle(folder / "a.kb", folder / "bundle")
    (folder / "photos").mkdir()
    for number, colour in enumerate(("red", "blue", "green")):
        Image.new("RGB", (40, 40), colour).save(folder / "photos" / f"{number}.png")
    with open_collection(folder / "photos", encoders.text_image[0], home=folder / "index"):
        pass
    write_session(
        folder / "session.json",
        Session(
            query="a red bird", method="rocchio", turns=(Turn(query="a red bird", shown=()),),
            collection=CollectionState(space="s", n=3, digest="0"),
        ),
    )  # fmt: skip
    with CacheFile(folder / "judgements.sqlite") as judgements:
        for key, judgement in JUDGEMENTS.items():
            judgements.put(key, judgement)
    shutil.copy(Shelf(folder / "home").add(darwin_core(folder)).path, folder / "checklist.sqlite")
    return folder


def answers(path: Path, encoders: Encoders) -> list[object]:
    [vector] = encoders.sentence.encode_texts(["red crown"])
    questions: tuple[Callable[[KnowledgeBase], object], ...] = (
        lambda store: store.species(store.taxon_ids),
        lambda store: [store.article_text(taxon_id) for taxon_id in store.taxon_ids],
        lambda store: store.query_species(vector, N),
        lambda store: kb.context(store, "Bird 003 in amplexus", encoders.sentence).passage,
        lambda store: [store.chunk_vectors(space).vectors.tobytes() for space in store.info.text_image],
        lambda store: [store.anchor_vectors(space).vectors.tobytes() for space in store.info.anchor_spaces],
        lambda store: store.left_out(),
    )
    found: list[object] = []
    for question in questions:
        try:
            with kb.open(path) as store:
                found.append(question(store))
        except FieldmarkError as error:
            found.append(error)
    return found


def check_knowledge_base(path: Path, expected: list[object], encoders: Encoders) -> str:
    """Check that no answer is wrong, and that verify finds what a reader refused and mends it or names a remedy."""

    def has_refusal() -> bool:
        found = answers(path, encoders)
        for answer, right in zip(found, expected, strict=True):
            assert isinstance(answer, FieldmarkError) or answer == right, "a wrong answer in silence"
        return any(isinstance(answer, FieldmarkError) for answer in found)

    is_refused = has_refusal()
    try:
        verified = kb.verify(path)
    except FieldmarkError as error:
        assert REMEDY.search(f"{error} {error.hint}"), error
        return "refused"
    if verified.ok:
        assert not is_refused, "readers refuse it, verify finds nothing"
        return "harmless"
    assert all(map(REMEDY.search, verified.problems)), verified.problems
    if not kb.verify(path).ok:
        return "found"
    assert not has_refusal()
    return "mended"


def check_cache(cache: CacheFile) -> str:
    """Check that a value comes back as it was or not at all, and that the cache takes new ones.

    One whose place in an index is damaged may be asked for again each time.
    """
    with cache:
        found = [cache.get(key) for key in JUDGEMENTS]
        for key, value in JUDGEMENTS.items():
            cache.put(key, value)
        again = [cache.get(key) for key in JUDGEMENTS]
    whole = list(JUDGEMENTS.values())
    assert all(value in (None, right) for values in (found, again) for value, right in zip(values, whole, strict=True))
    return "harmless" if found == whole else "mended"


def check(path: Path, digest: str, encoders: Encoders) -> str:
    try:
        match path.name:
            case "bundle":
                assert kb.import_bundle(path, path.with_name("imported.kb"), encoders).digest == digest
            case "index":
                with open_collection(path.with_name("photos"), encoders.text_image[0], home=path) as found:
                    assert len(found.ids) == 3
            case "session.json":
                read_session(path)
            case "judgements.sqlite":
                return check_cache(CacheFile(path))
            case _:
                StoredChecklist(path).close()
                raise AssertionError("a kept checklist whose bytes changed is never read")
    except FieldmarkError as error:
        remedy = {"index": "Delete the folder", "session.json": "--session", "checklist.sqlite": "--checklist FILE"}
        assert remedy.get(path.name, "") in (error.hint or "") and "/photos." not in (error.hint or ""), error
        assert not path.with_name("imported.kb").exists()
        return "refused"
    return "harmless"


PLACES = (
    "a.kb/ledger.sqlite*", "a.kb/vectors/*/chroma/*.sqlite3", "a.kb/vectors/*/chroma/*/*", "a.kb/vectors/*/*",
    "a.kb/anchors/*/*", "a.kb/articles/*/*", "a.kb/kb.toml", "bundle/**/*", "index/**/*",
    "session.json", "judgements.sqlite", "checklist.sqlite",
)  # fmt: skip


def test_damaged_bytes_are_found_or_harmless(whole: Path, encoders: Encoders, draw: Draw, tmp_path: Path) -> None:
    expected = answers(Path(shutil.copytree(whole / "a.kb", tmp_path / "expected.kb")), encoders)
    assert not any(isinstance(answer, FieldmarkError) for answer in expected)
    digest = kb.verify(tmp_path / "expected.kb").digest

    def damage(seed: int) -> str:
        folder, at_random = tmp_path / f"{seed}", random.Random(seed)
        place = PLACES[seed % len(PLACES)]
        kind = place.split("/")[0]
        folder.mkdir()
        for name in (kind, "photos") if kind == "index" else (kind,):
            (shutil.copytree if (whole / name).is_dir() else shutil.copy)(whole / name, folder / name)
        file = at_random.choice([file for file in sorted(folder.glob(place)) if file.is_file() and file.stat().st_size])
        content = file.read_bytes()
        while (changed := damaged(content, at_random.randrange(10_000))) == content:
            pass
        file.write_bytes(changed)
        try:
            is_kb = kind == "a.kb"
            outcome = (check_knowledge_base if is_kb else check)(folder / kind, expected if is_kb else digest, encoders)
        except Exception as error:
            raise AssertionError(f"{file.relative_to(folder)}: {type(error).__name__}: {error}") from error
        shutil.rmtree(folder)
        return outcome

    counts = draw.each(28, 420, damage)
    assert draw.is_one or min(counts["refused"], counts["mended"]) >= 3
