"""Damaged bytes in any file that Fieldmark keeps are found, with a remedy, or change no answer."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

import kb
from data.contracts import Encoders
from data.errors import FieldmarkError
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.checklist.shelf import Shelf
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.endpoints.reply_cache import ReplyCache
from kb.store.calibrations import save_calibration
from rerank import open_collection
from rerank.feedback.session import CollectionState, Session, Turn, read_session, write_session
from rerank.judgement_cache import JudgementCache
from tests.damaged import damaged
from tests.faults.draw import Draw
from tests.kb.checklist.stored.checklist_files import darwin_core
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

pytestmark = pytest.mark.integration
N = 4
REMEDY = re.compile(r"repaired|filled again|restored|kb build|kb verify|kb calibrate|[Rr]emove|[Dd]elete|next build")
REQUESTS = [ChatRequest(messages=(ChatMessage(role="user", text="Is it red?"),), seed=n) for n in range(40)]


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


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
    with ReplyCache(folder / "replies.sqlite") as replies, JudgementCache(folder / "judgements.sqlite") as judgements:
        for number, request in enumerate(REQUESTS):
            replies.put("m", request, reply=ChatReply(text=f"Yes {number}", model="m"))
            judgements.put(f"key {number}", f"judgement {number} " * 9)
    shutil.copy(Shelf(folder / "home").add(darwin_core(folder)).path, folder / "checklist.sqlite")
    return folder


def answers(path: Path, encoders: Encoders) -> list[object]:
    """Return what readers of a knowledge base get, each an error of Fieldmark where there is one."""
    [vector] = encoders.sentence.encode_texts(["red crown"])
    found: list[object] = []
    try:
        with kb.open(path) as store:
            questions: tuple[Callable[[], object], ...] = (
                lambda: store.species(store.taxon_ids),
                lambda: [store.article_text(taxon_id) for taxon_id in store.taxon_ids],
                lambda: store.query_species(vector, N),
                lambda: kb.context(store, "Bird 003 in amplexus", encoders.sentence).passage,
                lambda: [store.chunk_vectors(space).vectors.tobytes() for space in store.info.text_image],
                lambda: [store.anchor_vectors(space).vectors.tobytes() for space in store.info.anchor_spaces],
                store.left_out,
            )
            for question in questions:
                try:
                    found.append(question())
                except FieldmarkError as error:
                    found.append(error)
    except FieldmarkError as error:
        found.append(error)
    return found


def check_knowledge_base(path: Path, expected: list[object], encoders: Encoders) -> str:
    """Check that no answer is wrong, and that verify finds what a reader refused and mends it or names a remedy."""

    def has_refusal() -> bool:
        found = answers(path, encoders)
        for answer, right in zip(found, expected, strict=False):
            assert isinstance(answer, FieldmarkError) or answer == right, "a wrong answer in silence"
        return len(found) < len(expected) or any(isinstance(answer, FieldmarkError) for answer in found)

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


def check_bundle(folder: Path, digest: str, encoders: Encoders) -> str:
    target = folder.with_name("imported.kb")
    try:
        assert kb.import_bundle(folder, target, encoders).digest == digest
    except FieldmarkError:
        assert not target.exists()
        return "refused"
    return "harmless"


def check_index(folder: Path, encoders: Encoders) -> str:
    """Check that an index opens with all photos, or that the error names what to delete, and never the photos."""
    try:
        with open_collection(folder.with_name("photos"), encoders.text_image[0], home=folder) as found:
            assert len(found.ids) == 3
    except FieldmarkError as error:
        assert "Delete the folder" in (error.hint or "") and "/photos." not in (error.hint or ""), error
        return "refused"
    return "harmless"


def check_session(path: Path) -> str:
    try:
        read_session(path)
    except FieldmarkError as error:
        assert "--session" in (error.hint or "")
        return "refused"
    return "harmless"


def check_replies(path: Path) -> str:
    """Check that a reply comes back as it was or not at all, and that the cache takes new ones.

    One whose place in an index is damaged may be asked for again each time.
    """
    expected = [f"Yes {number}" for number in range(len(REQUESTS))]
    with ReplyCache(path) as cache:
        found = [one and one.text for one in (cache.get("m", request) for request in REQUESTS)]
        assert all(text in (None, right) for text, right in zip(found, expected, strict=True))
        for request, text in zip(REQUESTS, expected, strict=True):
            cache.put("m", request, reply=ChatReply(text=text, model="m"))
        again = [one and one.text for one in (cache.get("m", request) for request in REQUESTS)]
        assert all(text in (None, right) for text, right in zip(again, expected, strict=True))
    return "harmless" if found == expected else "mended"


def check_judgements(path: Path) -> str:
    expected = [f"judgement {number} " * 9 for number in range(len(REQUESTS))]
    with JudgementCache(path) as cache:
        found = [cache.get(f"key {number}") for number in range(len(REQUESTS))]
        assert all(text in (None, right) for text, right in zip(found, expected, strict=True))
        cache.put("key 7", "again")
        assert cache.get("key 7") == "again"
    return "harmless" if found == expected else "mended"


def check_checklist(path: Path) -> str:
    """Check that a kept checklist whose bytes changed is never read."""
    with pytest.raises(FieldmarkError) as caught, closing(StoredChecklist(path)):
        pass
    assert "kb build --checklist FILE" in (caught.value.hint or "")
    return "refused"


PLACES = (
    "a.kb/ledger.sqlite*", "a.kb/chroma/chroma.sqlite3", "a.kb/chroma/*/*", "a.kb/cache/*", "a.kb/anchors/*/*",
    "a.kb/articles/*/*", "a.kb/kb.toml", "a.kb/calibration/*", "bundle/**/*", "index/**/*", "session.json",
    "replies.sqlite", "judgements.sqlite", "checklist.sqlite",
)  # fmt: skip


def test_damaged_bytes_are_found_or_harmless(whole: Path, encoders: Encoders, draw: Draw, tmp_path: Path) -> None:
    expected = answers(Path(shutil.copytree(whole / "a.kb", tmp_path / "expected.kb")), encoders)
    assert not any(isinstance(answer, FieldmarkError) for answer in expected)
    digest = kb.verify(tmp_path / "expected.kb").digest

    def check(seed: int) -> str:
        folder, at_random = tmp_path / f"{seed}", random.Random(seed)
        place = PLACES[seed % len(PLACES)]
        kind = place.split("/")[0]
        shutil.copytree(whole / kind, folder / kind) if (whole / kind).is_dir() else folder.mkdir()
        if kind == "index":
            shutil.copytree(whole / "photos", folder / "photos")
        elif "/" not in place:
            shutil.copy(whole / kind, folder)
        files = [file for file in sorted(folder.glob(place)) if file.is_file() and file.stat().st_size]
        file = at_random.choice(files)
        content = file.read_bytes()
        while (changed := damaged(content, at_random.randrange(10_000))) == content:
            pass
        file.write_bytes(changed)
        try:
            match kind:
                case "a.kb":
                    outcome = check_knowledge_base(folder / kind, expected, encoders)
                case "bundle":
                    outcome = check_bundle(folder / kind, digest, encoders)
                case "index":
                    outcome = check_index(folder / kind, encoders)
                case "session.json":
                    outcome = check_session(folder / kind)
                case "replies.sqlite":
                    outcome = check_replies(folder / kind)
                case "judgements.sqlite":
                    outcome = check_judgements(folder / kind)
                case _:
                    outcome = check_checklist(folder / kind)
        except Exception as error:
            raise AssertionError(f"{file.relative_to(folder)}: {type(error).__name__}: {error}") from error
        shutil.rmtree(folder)
        return outcome

    counts = draw.each(28, 420, check)
    assert draw.is_one or min(counts["refused"], counts["mended"]) >= 3
