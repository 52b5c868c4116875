"""Mutated pages, replies of models, checklists, pictures and bundles are read, or refused with one of our errors."""

import io
import json
import random
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pillow_heif
import pytest
from PIL import Image

import kb
from data.contracts import Encoders
from data.errors import BadImage, FieldmarkError
from data.event_loop import wait_for
from data.images.decode import read_image
from data.records import Article, ChatReply, FetchedPage, PageRef, Section, Source
from kb.checklist.avilist import load_checklist
from kb.checklist.names_table import read_names
from kb.checklist.shelf import Shelf
from kb.checklist.species_lists import read_list
from kb.distill.model import ModelDistiller
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_source import WikipediaSource
from papers.answers.replies import read_answer, read_verdict
from papers.species.namer import read_name
from recognize.reader.replies import read_sample
from tests.drawn_birds import drawn_bird
from tests.faults.draw import Draw
from tests.faults.mutate import mutated
from tests.kb.bundle.test_bundles import forge_manifest
from tests.kb.checklist.stored.checklist_files import META, TAXA, darwin_core
from tests.kb.distill.test_model import GOOD, WREN, Scripted, article
from tests.pages import PageSource, made_up_taxa
from tests.recognize.reader.test_reader import CANDIDATES

PAGE = """<div class="mw-parser-output"><table class="infobox biota"><tr><th>Snowy owl</th></tr><tr><td>Family:</td>
<td><a href="/wiki/Strigidae">Strigidae</a></td></tr></table><p>The <b>snowy owl</b> (<i>Bubo scandiacus</i>) is white.
<sup class="reference">[1]</sup></p><h2 id="Description">Description</h2><ul><li>It has yellow eyes.</li></ul>
<figure><a href="/wiki/File:Owl.jpg"><img src="x.jpg" width="200"></a><figcaption>A male</figcaption></figure></div>"""
REPLY = json.dumps({"reason": "white, yellow eyes", "answer": "A", "species": "Bubo scandiacus", "ranking": [2, 1, 3]})
TABLE = "scientific_name,common_name,order,count\nBubo scandiacus,Snowy Owl,Strigiformes,3\nCorvus corax,Raven,,x\n"


def read_page(content: bytes, folder: Path) -> None:
    source = WikipediaSource(WikiClient("http://localhost/api.php"))
    place = Source(title="Snowy owl", url="http://localhost/Snowy_owl", revision=1)
    page = PageRef(subject_id="bubo-scandiacus", title="Snowy owl", revision=1)
    body = content.decode(errors="surrogateescape")
    source.parse(FetchedPage(page=page, body=body, media_type="text/html", source=place))


def read_replies(content: bytes, folder: Path) -> None:
    text = content.decode(errors="replace")
    reply = ChatReply(text=text, model="m")
    read_sample(reply, CANDIDATES)
    read_name(reply, lambda name: name or None)
    read_answer(text)
    read_verdict(text)


def distil_reply(content: bytes, folder: Path) -> None:
    chat = Scripted(content.decode(errors="replace"))
    wait_for(ModelDistiller(chat, mode="model").distil_async(article(), WREN))


def distil_article(content: bytes, folder: Path) -> None:
    from kb.distill.distillers import make_distiller

    text = content.decode(errors="replace")
    section = Section(title="Description", level=2, start=0, end=len(text))
    source = Source(title="Red wren", url="http://localhost/x", revision=1)
    make_distiller("extractive").distil(Article(source=source, text=text, sections=(section,)), WREN)


def read_tables(content: bytes, folder: Path) -> None:
    file = folder / "names.csv"
    file.write_bytes(content)
    for read in (lambda: read_names(file, load_checklist()), lambda: read_list(file)):
        try:
            read()
        except FieldmarkError:
            continue


def read_checklist(content: bytes, folder: Path) -> None:
    file = folder / "c.csv"
    file.write_bytes(content)
    shutil.rmtree(folder / "home", ignore_errors=True)
    list(Shelf(folder / "home").add(file).top_taxa())


def read_archive(content: bytes, folder: Path) -> None:
    text = content.decode(errors="replace")
    file = darwin_core(folder, **{"meta" if "<archive" in text else "taxa": text})
    shutil.rmtree(folder / "home", ignore_errors=True)
    list(Shelf(folder / "home").add(file).top_taxa())


@pytest.mark.parametrize(
    ("content", "read", "many"),
    [
        (PAGE, read_page, 2_300),
        (REPLY, read_replies, 2_000),
        (GOOD, distil_reply, 1_000),
        ("The male has a black crown. Its bill is red (see note 3). It is 20 cm long.", distil_article, 500),
        (TABLE, read_tables, 1_000),
        (TABLE, read_checklist, 500),
        (TAXA, read_archive, 300),
        (META, read_archive, 200),
    ],
    ids=["pages", "replies", "distilled", "articles", "tables", "checklists", "archives", "descriptions"],
)
def test_mutated_texts_are_read_or_refused(
    content: str, read: Callable[[bytes, Path], None], many: int, draw: Draw, tmp_path: Path
) -> None:
    def one(seed: int) -> str:
        try:
            read(mutated(content.encode(), random.Random(seed)), tmp_path)
        except FieldmarkError as error:
            assert str(error)
            return "refused"
        return "read"

    draw.each(20, many, one)


def pictures() -> list[bytes]:
    pillow_heif.register_heif_opener()
    drawing = Image.open(io.BytesIO(drawn_bird("bubo-scandiacus"))).convert("RGB").resize((320, 240))
    found = []
    for name in ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "MPO", "HEIF", "AVIF"):
        for picture, more in ((drawing, {}), (drawing.convert("L"), {"progressive": True} if name == "JPEG" else {})):
            out = io.BytesIO()
            picture.convert("RGB" if name in ("HEIF", "AVIF", "WEBP") else picture.mode).save(out, name, **more)
            found.append(out.getvalue())
    return found


def test_mutated_pictures_are_read_or_refused_within_2_s_and_500_mb(draw: Draw, tmp_path: Path) -> None:
    originals = pictures()

    def read(seed: int) -> str:
        at_random, file = random.Random(seed), tmp_path / "picture"
        file.write_bytes(mutated(at_random.choice(originals), at_random))
        started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            read_image(file, min_side=512)
            outcome = "read"
        except BadImage:
            outcome = "refused"
        assert time.process_time() - started < 2
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KiB
        return outcome

    draw.each(300, 10_000, read)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    kb.build(folder / "a.kb", made_up_taxa(3), PageSource(), encoders, terms=[("Amplexus", None)])
    kb.export_bundle(folder / "a.kb", folder / "out")
    return folder / "out"


def test_mutated_bundles_are_imported_whole_or_refused(
    bundle: Path, encoders: Encoders, draw: Draw, tmp_path: Path
) -> None:
    """Of a mutated file the manifest gives the size and hash, as a forger would; a refused bundle leaves nothing."""

    def imported(seed: int) -> str:
        at_random = random.Random(seed)
        shutil.rmtree(tmp_path, ignore_errors=True)
        copy = Path(shutil.copytree(bundle, tmp_path / "bundle"))
        file = at_random.choice(sorted(path for path in copy.rglob("*") if path.is_file()))
        file.write_bytes(mutated(file.read_bytes(), at_random))
        name = file.relative_to(copy).as_posix()
        if name in json.loads((bundle / "manifest.json").read_text())["files"]:
            forge_manifest(copy, name)
        try:
            kb.import_bundle(copy, tmp_path / "b.kb", encoders)
        except FieldmarkError as error:
            assert str(error)
            assert [path.name for path in tmp_path.iterdir()] == ["bundle"], name
            return "refused"
        assert kb.verify(tmp_path / "b.kb").ok, name
        return "imported"

    draw.each(5, 200, imported)
