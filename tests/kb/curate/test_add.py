import shutil
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

import kb
import recognize
from data.contracts import Encoders
from data.errors import BadInput, SpaceMismatch, StoreError
from data.records import Taxon
from kb import OwnPhoto, OwnText
from kb.checklist.selection import own_taxon
from kb.checklist.wiki_checklist import WikiChecklist
from kb.curate.add import is_foreign, near_names, with_relatives
from kb.sources.web_pages import PageClient, WebSource
from kb.store.layout import Layout
from tests.edited_pages import EditedPages, second_state
from tests.pages import made_up_taxa
from tests.toy.encoders import toy_encoders

TEXT = """# Red admiral

It lives on nettles in gardens all over Europe.

The upperwings are velvety black with a broad red band and white spots near the tip. The underside is mottled brown.
"""
ADMIRAL = own_taxon("Vanessa atalanta", common_names=["Red Admiral"], lineage={"class": "Insecta"})


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return recognize.load_encoders("starter")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    path = tmp_path_factory.mktemp("built") / "a.kb"
    kb.build(path, made_up_taxa(7), EditedPages(), encoders, terms=[("Amplexus", None)])
    return path


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "a.kb")


def butterfly(path: Path, *, lean: int = 0) -> Path:
    image = Image.new("RGB", (300, 240), (90, 150 + 8 * lean, 70))
    draw = ImageDraw.Draw(image)
    for side in (-1, 1):
        draw.polygon([(150, 120), (150 + side * 110, 40 + 6 * lean), (150 + side * 120, 180)], fill=(20, 15, 15))
        draw.line([(150 + side * 15, 130), (150 + side * 100, 60)], fill=(220, 60, 30), width=18)
    image.save(path)
    return path


def test_an_added_species_outside_the_checklist_is_identified(path: Path, encoders: Encoders, tmp_path: Path) -> None:
    photos = [
        OwnPhoto(path=butterfly(tmp_path / f"{i}.png", lean=i), author="Ann", licence="CC BY 4.0") for i in (0, 1)
    ]
    added = kb.add(path, ADMIRAL, encoders, texts=[OwnText(text=TEXT, title="admiral.md")], photos=photos)
    assert (added.name, added.is_new, added.new_texts, added.new_photos) == ("Vanessa atalanta", True, 1, 2)
    assert (added.new_names, added.lineage) == ((), {}), "all is new"
    again = kb.add(path, ADMIRAL, encoders, photos=[OwnPhoto(path=photos[0].path)])  # its credit is kept
    other = kb.add(path, ADMIRAL, encoders, photos=[OwnPhoto(path=photos[1].path, licence="CC0")])
    assert [(each.new_photos, each.new_credits) for each in (again, other)] == [(0, 0), (0, 1)]
    assert "nettles" not in added.text
    assert "red band" in added.text
    with kb.open(path) as store:
        [row] = recognize.Recognizer(store, encoders).identify([str(butterfly(tmp_path / "query.png", lean=2))])
        assert row.candidates[0].scientific_name == "Vanessa atalanta"
        assert row.candidates[0].common_name == "Red Admiral"
        assert kb.search(store, "black wings with a red band", encoders.sentence)[0].taxon_id == "vanessa-atalanta"
        [entry] = store.species(["vanessa-atalanta"])
        assert {each.credit for each in entry.anchors} == {"Ann, CC BY 4.0", "Ann, CC0"}
        # its evidence points into the stored text
        assert entry.summary is not None
        text = store.article_text("vanessa-atalanta") or ""
        spans = [span for statement in entry.summary.statements for span in statement.evidence]
        assert "broad red band" in text[spans[0].start : spans[0].end]
    assert kb.verify(path).ok


def test_added_text_and_photos_come_first_and_survive_updates(path: Path, encoders: Encoders, tmp_path: Path) -> None:
    bird = made_up_taxa(4)[3]
    photo = OwnPhoto(path=butterfly(tmp_path / "mine.png"))
    kb.add(path, bird, encoders, texts=[OwnText(text="The iris is bright orange.", title="notes")], photos=[photo])

    def check(revision: int) -> None:
        with kb.open(path) as store:
            [entry] = store.species(["avis-003"])
            assert [anchor.file for anchor in entry.anchors] == ["mine.png", "avis-003 0.png", "avis-003 1.png"]
            assert entry.source is not None
            assert entry.source.revision == revision
            assert entry.summary is not None
            text = store.article_text("avis-003") or ""
            quotes = [text[s.evidence[0].start : s.evidence[0].end] for s in entry.summary.statements]
            assert quotes[0] == "The iris is bright orange."
            assert quotes[1].startswith("The bird has a")

    check(1)
    found = kb.update(path, [second_state()], encoders)
    assert "Avis 003" in {change.name for change in found.changes}
    check(2)
    named = Taxon(taxon_id=bird.taxon_id, scientific_name=bird.scientific_name, rank="species", common_names=("Piff",))
    kb.add(path, named, encoders)
    kb.build(path, made_up_taxa(7), second_state(), encoders)
    check(2)
    kb.update(path, [EditedPages(gone=["avis-003", "avis-004"])], encoders)
    with kb.open(path) as store:
        assert "avis-004" not in store.taxon_ids
        [entry] = store.species(["avis-003"])
        assert entry.summary is not None and entry.taxon.common_names == ("Bird 003", "Piff")
        assert (entry.summary.text, len(entry.anchors)) == ("The iris is bright orange.", 1)
    assert kb.verify(path).ok


def test_a_knowledge_base_can_consist_of_additions_only(encoders: Encoders, tmp_path: Path) -> None:
    """A refused text creates none; `as_is` stores a text word for word."""
    path, text = tmp_path / "own.kb", "Vanessa sings at dawn. It is 6 cm wide."
    with pytest.raises(BadInput, match="no sentence describes the appearance of Red Admiral"):
        kb.add(path, ADMIRAL, encoders, texts=[OwnText(text="It sings at night.", title="notes")])
    assert not (path / "kb.toml").exists()
    assert not (path / "ledger.sqlite").exists()
    assert kb.add(path, ADMIRAL, encoders, texts=[OwnText(text=text, title="a.md")], as_is=True).text == text
    with kb.open(path) as store:
        assert store.taxon_ids == ("vanessa-atalanta",)
    with pytest.raises(SpaceMismatch):
        kb.add(path, ADMIRAL, toy_encoders())


def test_adding_the_same_content_again_changes_nothing(path: Path, encoders: Encoders, tmp_path: Path) -> None:
    """Unless the file of an added photo is lost, which is then stored again."""
    texts, photos = [OwnText(text=TEXT, title="a.md")], [OwnPhoto(path=butterfly(tmp_path / "mine.png"))]
    kb.add(path, ADMIRAL, encoders, texts=texts, photos=photos)
    before = kb.verify(path)
    again = kb.add(path, ADMIRAL, encoders, texts=texts, photos=photos)
    assert (again.is_new, again.new_texts, again.new_photos) == (False, 0, 0)
    assert kb.verify(path) == before
    with kb.open(path) as store:
        [entry] = store.species(["vanessa-atalanta"])
        store.anchor_path(entry.anchors[0].anchor_id).unlink()
    assert "vanessa-atalanta: your mine.png is missing or damaged; add it again with kb add" in kb.verify(path).problems
    kb.add(path, ADMIRAL, encoders, photos=photos)
    assert kb.verify(path) == before


def test_an_added_term_is_found_and_survives_a_build(path: Path, encoders: Encoders) -> None:
    text = OwnText(
        text="An osmeterium is a forked organ behind the head of a caterpillar. It is bright orange.", title="t"
    )
    added = kb.add(path, "osmeterium", encoders, texts=[text])
    assert (added.subject_id, added.is_new) == ("term:osmeterium", True)
    with kb.open(path) as store:
        assert [term.name for term in store.terms()] == ["Amplexus", "osmeterium"]
        assert "forked organ" in kb.context(store, "caterpillar with its osmeterium out", encoders.sentence).passage
    kb.build(path, made_up_taxa(7), EditedPages(), encoders, terms=[("Amplexus", None)])
    with kb.open(path) as store:
        assert [term.name for term in store.terms()] == ["Amplexus", "osmeterium"]


def test_an_invalid_photo_or_text_adds_nothing(path: Path, encoders: Encoders, tmp_path: Path) -> None:
    def state() -> object:
        return kb.verify(path), set((path / "articles").rglob("*.gz"))

    before, good = state(), OwnText(text=TEXT, title="good.md")
    (tmp_path / "cut.png").write_bytes(butterfly(tmp_path / "whole.png").read_bytes()[:300])
    Image.new("RGB", (20, 20)).save(tmp_path / "tiny.png")
    for name, why in (("cut.png", "cut.png"), ("tiny.png", "at least 64 px, got 20 x 20"), ("none.png", "none.png")):
        with pytest.raises(BadInput, match=why) as caught:
            kb.add(path, ADMIRAL, encoders, photos=[OwnPhoto(path=tmp_path / name)])
        assert caught.value.hint == "Nothing was added."
    with pytest.raises(BadInput, match=r"^bad\.md: no sentence describes the appearance"):
        kb.add(path, ADMIRAL, encoders, texts=[good, OwnText(text="It sings at night.", title="bad.md")])
    assert state() == before


def test_a_removal_equals_a_build_without_the_species_until_its_name_is_added(
    path: Path, encoders: Encoders, tmp_path: Path
) -> None:
    before = kb.verify(path).digest
    kb.remove(path, ["Avis 003"])
    rest = [taxon for taxon in made_up_taxa(7) if taxon.taxon_id != "avis-003"]
    kb.build(tmp_path / "b.kb", rest, EditedPages(), encoders, terms=[("Amplexus", None)])
    assert kb.verify(path).digest == kb.verify(tmp_path / "b.kb").digest
    assert kb.add(path, made_up_taxa(4)[3], encoders).was_removed
    kb.build(path, made_up_taxa(7), EditedPages(), encoders, terms=[("Amplexus", None)])
    assert kb.verify(path).digest == before


def test_removing_an_unknown_name_changes_nothing_and_suggests_names(path: Path, encoders: Encoders) -> None:
    with pytest.raises(BadInput, match='Unknown taxon "Avis 03"') as raised:
        kb.remove(path, ["Avis 004", "Avis 03"])
    assert "Avis 003" in (raised.value.hint or "")
    with kb.open(path) as store:
        assert "avis-004" in store.taxon_ids


def test_a_removal_killed_in_chroma_leaves_all_as_it_was(
    path: Path, encoders: Encoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    held = [file for folder in ("articles", "anchors") for file in (path / folder).glob("??/*")]
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("kb.store.chroma.Chroma.delete", stop)
        kb.remove(path, ["Avis 003"])
    with kb.open(path) as store:
        assert "avis-003" in {store.taxon_ids[i] for i in store.anchor_vectors(encoders.visual.space).owners}
    assert all(file.exists() for file in held)
    removed = kb.remove(path, ["Avis 003"])
    assert (removed.names, removed.files) == (("Avis 003",), 3)
    assert sum(not file.exists() for file in held) == 3  # an article and two photos
    assert kb.verify(path).ok


def lose_photo(path: Path) -> None:
    with kb.open(path) as store:
        photo = store.species(["avis-000"])[0].anchors[0]
    assert photo.sha256 is not None
    Layout(path).anchors.path_of(photo.sha256).unlink()


def shown(path: Path) -> list[str]:
    with kb.open(path) as store:
        return [anchor.anchor_id for anchor in store.species(["avis-000"])[0].anchors]


def test_an_addition_to_a_species_with_a_lost_photo_waits_for_the_next_build(
    path: Path, encoders: Encoders, tmp_path: Path
) -> None:
    taxa, page = made_up_taxa(7), tmp_path / "page.txt"
    one, other = OwnPhoto(path=butterfly(tmp_path / "1.png")), OwnPhoto(path=butterfly(tmp_path / "2.png", lean=1))
    text = OwnText(text="The wings are violet with a golden bar.", title="my notes")
    page.write_text("Avis 000 is a bird. The tail of Avis 000 is violet with a golden bar.")
    lose_photo(path)
    before, digest = shown(path), kb.verify(path).digest
    with pytest.raises(StoreError, match="is shown without the addition: ") as raised:
        kb.add(path, taxa[0], encoders, texts=[text], photos=[one])
    assert raised.value.hint == (
        "The addition is kept. kb build fetches the lost photo again and then shows the addition."
    )
    assert shown(path) == before and kb.verify(path).digest == digest
    with closing(WebSource(PageClient())) as source, pytest.raises(StoreError, match="is shown without the addition"):
        kb.add_pages(path, taxa[0], [str(page)], source, encoders)
    assert kb.build(path, taxa, EditedPages(), encoders).failures == ()
    assert len(shown(path)) == len(before) + 1 and kb.verify(path).ok
    lose_photo(path)  # the user's own, which comes first
    with pytest.raises(StoreError) as raised:
        kb.add(path, taxa[0], encoders, photos=[other])
    assert "Your own photo is lost: add it again" in (raised.value.hint or "")
    kb.add(path, taxa[0], encoders, photos=[one])
    assert len(shown(path)) == len(before) + 2 and kb.verify(path).ok
    with kb.open(path) as store:
        summary = store.species(["avis-000"])[0].summary
    assert summary is not None and "wings are violet" in summary.text and "tail" in summary.text


def species(name: str, **lineage: str) -> Taxon:
    return own_taxon(name, lineage=lineage)


def test_a_species_takes_the_higher_taxa_that_its_genus_shares() -> None:
    held = [species("Prunella vulgaris", family="Lamiaceae"), species("Prunella modularis", family="Prunellidae")]
    assert with_relatives(species("Prunella nova"), held).lineage == {"genus": "Prunella"}
    assert with_relatives(species("Prunella nova"), held[1:]).lineage["family"] == "Prunellidae"
    assert with_relatives(species("Aglais io"), held).lineage == {"genus": "Aglais"}
    plant = species("Prunella nova", family="Lamiaceae")
    assert with_relatives(plant, held[1:]) == plant


def test_names_that_differ_by_a_letter_are_near() -> None:
    held = species("Vanessa atalanta")
    near = ("Vanesa atalanta", "Vanessa atalamta", "Vanessa taalanta", "Vanessas atalanta")
    for name in (*near, "Vanessa atalanta", "Vanessa cardui", "Vanssa atalamta"):
        assert near_names(species(name), [held], WikiChecklist()) == (["Vanessa atalanta"] if name in near else []), (
            name
        )


def test_other_languages_and_letters_are_foreign() -> None:
    texts = (
        "Der Falter hat orange Flügel mit schwarzer Spitze. Die Raupe ist schwarz und lebt auf Disteln.",
        "Les ailes sont orange avec une pointe noire. La chenille est noire.",
        "De vleugels zijn oranje met een zwarte punt en een witte rand.",
        "Vingarna är orange och spetsen är svart med en vit fläck.",
        "Крылья оранжевые с черным концом.",
        "翅は橙色で先端は黒い。",
    )
    assert [text for text in texts if not is_foreign(text)] == []
    for text in ("Wings orange, tip black.", "Common in El Salvador.", "", "12 mm"):
        assert not is_foreign(text)
