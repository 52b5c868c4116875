from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.errors import BadInput, NothingReadable, StoreError
from rerank import collection, open_collection
from rerank.collection import StoredPhoto, read_index, write_index
from tests.toy.encoders import Counting

COLOURS = ("blue", "red", "yellow", "green")


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


def test_only_new_and_changed_photos_are_encoded_and_removed_ones_are_forgotten(folder: Path, encoder: Any) -> None:
    with open_collection(folder, encoder) as collection:
        assert (collection.update.n_new, encoder.n_images) == (6, 4)
    with open_collection(folder, encoder) as collection:
        assert (collection.update.n_new, collection.update.n_removed, encoder.n_images) == (0, 0, 4)
    (folder / "a/1.png").unlink()
    Image.new("RGB", (41, 40), "black").save(folder / "b c.png")
    Image.new("RGB", (40, 40), "white").save(folder / "empty.png")
    with open_collection(folder, encoder) as collection:
        assert (collection.update.n_new, collection.update.n_removed, encoder.n_images) == (2, 1, 6)
        assert list(collection.ids) == ["a.b/2.png", "b%20c.png", "b%2520c.png", "empty.png"]
        changed = collection.scores(collection.vectors(np.arange(4)))
    with open_collection(folder, encoder, home=folder.parent / "fresh") as fresh:
        assert np.array_equal(changed, fresh.scores(fresh.vectors(np.arange(4))))


def test_a_reader_keeps_its_photos_while_the_index_is_replaced(folder: Path, encoder: Any) -> None:
    query = encoder.encode_texts(["azure wings"])
    with open_collection(folder, encoder, home=folder.parent) as before:
        scores, ids = before.scores(query), before.ids
        for name in ("a.b/2.png", "b c.png", "b%20c.png"):
            (folder / name).unlink()
        with open_collection(folder, encoder, home=folder.parent) as after:
            assert list(after.ids) == ["a/1.png"] and after.scores(query)[0, 0] == scores[0, 0]
        [matrix] = (folder.parent / "collections").rglob("*.f32")
        assert matrix.stat().st_size == encoder.dim * 4, "the other file and the rows of removed photos are gone"
        assert np.array_equal(before.scores(query), scores) and before.ids == ids


def test_what_is_done_is_saved_now_and_then_and_a_killed_update_continues(
    tmp_path: Path, encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "photos").mkdir()
    for i in range(100):
        Image.new("RGB", (40, 40), (i, 90, 90)).save(tmp_path / "photos" / f"{i:02}.png")
    monkeypatch.setattr(collection, "_SAVING", 1e9)  # after each batch

    def killed(done: int, _total: int, _failed: int) -> None:
        if done > 64:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        open_collection(tmp_path / "photos", encoder, home=tmp_path, on_progress=killed),
    ):
        pass
    with (
        open_collection(tmp_path / "photos", encoder, home=tmp_path) as resumed,
        open_collection(tmp_path / "photos", encoder, home=tmp_path / "fresh") as whole,
    ):
        assert (resumed.update.n_new, whole.update.n_new) == (4, 100)
        assert resumed.ids == whole.ids
        assert np.array_equal(resumed.vectors(np.arange(100)), whole.vectors(np.arange(100)))


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
        assert (len(collection.ids), encoder.n_images) == (4, 4)
        for image_id in collection.ids:
            collection.path(image_id).unlink()
    with pytest.raises(NothingReadable, match="None of the 2 photos"), open_collection(folder, encoder):
        pass


def test_photos_in_a_folder_that_cannot_be_listed_are_kept() -> None:
    stored = [StoredPhoto(path, 9, 9) for path in ("a.png", "b/1.png", "bb/1.png")]
    new, removed = collection.changes({"a.png": (9, 9), "b": (-1, 0)}, stored)
    assert [photo.path for photo in new] == ["b"] and removed == ["bb/1.png"]


def test_a_damaged_index_is_an_error_that_names_its_own_folder(tmp_path: Path) -> None:
    """The folder of photos must not be taken for the one to delete."""
    photo = StoredPhoto("\udcff.png", 1, 2, None, np.ones(4, np.float32))
    write_index(tmp_path, [photo, StoredPhoto("a.png", 3, 4, "is empty")])
    read = read_index(tmp_path, 4)
    assert [each[:4] for each in read.photos] == [("a.png", 3, 4, "is empty"), photo[:4]]
    assert read.vectors.tolist() == [[1.0] * 4] and read_index(tmp_path / "none", 4).photos == []
    [matrix] = tmp_path.glob("*.f32")
    for file, content in ((tmp_path / "photos.jsonl", b"no table"), (matrix, b"1234"), (matrix, None)):
        write_index(tmp_path, [photo])
        [matrix] = tmp_path.glob("*.f32")
        file = file if file.suffix == ".jsonl" else matrix
        file.unlink() if content is None else file.write_bytes(content)
        with pytest.raises(StoreError, match="index of photos") as caught:
            read_index(tmp_path, 4)
        assert caught.value.hint == f"Delete the folder {tmp_path}. It holds no photos; they are indexed again."
