"""Collections: what the index of a folder learns and forgets, and what readers of it see."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.errors import BadInput, MissingRequirement, NothingReadable, StoreError
from rerank import open_collection
from rerank.collection.files import CollectionFiles, StoredPhoto
from rerank.collection.opening import changes
from tests.small_files import files_of_at_most
from tests.toy.encoders import toy_encoders

COLOURS = ("blue", "red", "yellow", "green")


class Counting:
    """The toy encoder, counting the photos that it encodes."""

    def __init__(self) -> None:
        self.inner, self.n = toy_encoders().text_image[0], 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def encode_images(self, images: Any) -> Any:
        self.n += len(images)
        return self.inner.encode_images(images)


@pytest.fixture
def encoder() -> Any:
    return Counting()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    photos = tmp_path / "photos"
    (photos / "a.b").mkdir(parents=True)
    (photos / "a").mkdir()
    for name, colour in zip(("a/1.png", "a.b/2.png", "b c.png", "b%20c.png"), COLOURS, strict=True):
        Image.new("RGB", (40, 40), colour).save(photos / name)
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not much of a JPEG")
    (photos / "empty.png").write_bytes(b"")
    (photos / ".hidden.png").write_bytes(b"")
    (photos / "notes.txt").write_text("no photo")
    return photos


def test_ids_are_sorted_by_path_and_lead_back_to_their_files(folder: Path, encoder: Any) -> None:
    with open_collection(folder, encoder) as collection:
        assert list(collection.ids) == ["a/1.png", "a.b/2.png", "b%20c.png", "b%2520c.png"]
        assert collection.path("b%20c.png") == folder / "b c.png" and collection.path("empty.png").exists()
        assert set(collection.errors) == {"broken.jpg", "empty.png"}
        assert collection.reasons() == {"is damaged or incomplete": 1, "is empty": 1}
        with pytest.raises(BadInput, match=r"no photo 'a/2\.png'"):
            collection.path("a/2.png")


def test_scores_are_the_cosines_of_the_encoder_whatever_their_number(folder: Path, encoder: Any) -> None:
    queries = encoder.encode_texts(["scarlet", "azure wings", "golden"])
    with open_collection(folder, encoder) as collection:
        scores = collection.scores(queries)
        vectors = collection.vectors(np.arange(4))
        assert scores == pytest.approx(queries.astype(float) @ vectors.T.astype(float), abs=1e-6)
        assert np.array_equal(scores[1], collection.scores(queries[1:2])[0])
        assert np.array_equal(collection.vectors(np.array([2, 0])), vectors[[2, 0]])


def test_equal_photos_have_equal_scores_in_an_index_of_any_history(tmp_path: Path, encoder: Any) -> None:
    for i in range(70):
        Image.new("RGB", (40, 40), ("red", "blue")[i % 2]).save(tmp_path / f"{i}.png")
    with open_collection(tmp_path, encoder) as collection:
        assert len(set(collection.scores(encoder.encode_texts(["scarlet"]))[0].tolist())) == 2


def test_only_new_and_changed_photos_are_encoded_and_removed_ones_are_forgotten(folder: Path, encoder: Any) -> None:
    with open_collection(folder, encoder) as collection:
        assert (collection.update.n_new, encoder.n) == (6, 4)
    with open_collection(folder, encoder) as collection:
        assert (collection.update.n_new, collection.update.n_removed, encoder.n) == (0, 0, 4)
    (folder / "a/1.png").unlink()
    Image.new("RGB", (41, 40), "black").save(folder / "b c.png")
    Image.new("RGB", (40, 40), "white").save(folder / "empty.png")
    with open_collection(folder, encoder) as collection:
        assert (collection.update.n_new, collection.update.n_removed, encoder.n) == (2, 1, 6)
        assert list(collection.ids) == ["a.b/2.png", "b%20c.png", "b%2520c.png", "empty.png"]
        changed = collection.scores(collection.vectors(np.arange(4)))
    with open_collection(folder, encoder, home=folder.parent / "fresh") as fresh:
        assert np.array_equal(changed, fresh.scores(fresh.vectors(np.arange(4))))


def test_a_reader_keeps_its_photos_while_the_index_changes_and_is_compacted(folder: Path, encoder: Any) -> None:
    query = encoder.encode_texts(["azure wings"])
    with open_collection(folder, encoder) as before:
        scores, ids = before.scores(query), before.ids
        for name in ("a.b/2.png", "b c.png", "b%20c.png"):
            (folder / name).unlink()
        with open_collection(folder, encoder) as after:
            assert list(after.ids) == ["a/1.png"] and after.scores(query)[0, 0] == scores[0, 0]
            [matrix] = Path(after._file.name).parent.glob("vectors-*.f32")
            assert matrix.stat().st_size == encoder.dim * 4, "three of four rows were without a photo"
        assert np.array_equal(before.scores(query), scores) and before.ids == ids


def test_rows_of_a_killed_writer_are_cut_off(folder: Path, encoder: Any) -> None:
    with open_collection(folder, encoder) as collection:
        whole, matrix = collection.vectors(np.arange(4)), Path(collection._file.name)
    with matrix.open("ab") as out:
        out.write(b"half a row")
    Image.new("RGB", (40, 40), "white").save(folder / "z.png")
    with open_collection(folder, encoder) as collection:
        assert np.array_equal(collection.vectors(np.arange(4)), whole)
        assert collection.vectors(np.array([4]))[0] == pytest.approx(
            encoder.encode_images([Image.new("RGB", (40, 40), "white")])[0], abs=1e-6
        )
    assert matrix.stat().st_size == 5 * encoder.dim * 4


def test_folders_without_a_readable_photo_are_errors_and_lose_nothing(folder: Path, encoder: Any) -> None:
    with open_collection(folder, encoder):
        pass
    folder.rename(folder.with_name("away"))
    with pytest.raises(BadInput, match="does not exist"), open_collection(folder, encoder):
        pass
    folder.mkdir()
    with pytest.raises(NothingReadable, match="No photo found"), open_collection(folder, encoder):
        pass
    folder.rmdir()
    folder.with_name("away").rename(folder)
    with open_collection(folder, encoder) as collection:
        assert (len(collection.ids), encoder.n) == (4, 4)
        for image_id in collection.ids:
            collection.path(image_id).unlink()
    with pytest.raises(NothingReadable, match="None of the 2 photos"), open_collection(folder, encoder):
        pass


def test_photos_in_a_folder_that_cannot_be_listed_are_kept() -> None:
    stored = [StoredPhoto(path, 9, 9, row, None) for row, path in enumerate(("a.png", "b/1.png", "bb/1.png"))]
    found = changes({"a.png": (9, 9), "b": (-1, 0)}, stored)
    assert [photo.path for photo in found.new] == ["b"] and found.removed == ["bb/1.png"]


def test_a_damaged_index_is_an_error_that_names_its_own_folder(tmp_path: Path) -> None:
    """The folder of photos must not be taken for the one to delete."""
    with CollectionFiles(tmp_path / "index", dim=4):
        pass
    (tmp_path / "index" / "photos.sqlite").write_bytes(b"no database" * 500)
    with pytest.raises(StoreError, match="index of photos") as caught:
        CollectionFiles(tmp_path / "index", dim=4)
    assert caught.value.hint == f"Delete the folder {tmp_path / 'index'}. It holds no photos; they are indexed again."


def test_a_full_disk_is_reported_with_the_folder(tmp_path: Path) -> None:
    photos = [StoredPhoto(path=f"{i}.png", size=1, mtime_ns=1, row=None, error=None) for i in range(1_000)]
    with CollectionFiles(tmp_path / "index", dim=512) as files:
        with files_of_at_most(1_000_000), pytest.raises(MissingRequirement, match="index cannot be written"):
            files.add(photos, np.zeros((1_000, 512), dtype=np.float32))
        files.recover()
        files.add(photos, np.zeros((1_000, 512), dtype=np.float32))
        assert files.state.n_rows == 1_000
