import os
from pathlib import Path

import pytest

from data.errors import BadImage
from data.images.decode import read_image
from data.images.find import find_images


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"x")


def test_folders_files_and_patterns_are_found_in_order_without_hidden_files(tmp_path: Path) -> None:
    write(tmp_path, "b.jpg", "a.PNG", "sub/c.heic", "sub/.hidden.jpg", ".git/d.jpg", "odd.dat", "bird[1].jpg", "ab.jpg")
    names = {
        (tmp_path,): ["a.PNG", "ab.jpg", "b.jpg", "bird[1].jpg", "sub/c.heic"],
        (tmp_path / "odd.dat", str(tmp_path / "*.jpg"), tmp_path / "none.jpg", tmp_path / "b.jpg"): [
            "odd.dat", "ab.jpg", "b.jpg", "bird[1].jpg", "none.jpg",
        ],
        (tmp_path / "*.gif",): [],
        (tmp_path / "bird[1].jpg",): ["bird[1].jpg"],
        (tmp_path / "a**.jpg",): ["ab.jpg"],
    }  # fmt: skip
    for given, expected in names.items():
        assert [str(path.relative_to(tmp_path)) for path in find_images(given)] == expected, given


def test_symlink_loops_are_visited_once_and_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"x")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "round.jpg").symlink_to(tmp_path / "round.jpg")
    assert find_images([tmp_path]) == [tmp_path / "a.jpg", tmp_path / "round.jpg"]


def test_pipes_and_links_without_a_target_are_found_and_other_files_collected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path, "notes.txt", ".cache/c.txt", ".DS_Store")
    skipped: set[Path] = set()
    expected = [tmp_path / "gone.jpg", tmp_path / "pipe.jpg"]
    assert find_images([tmp_path], skipped=skipped) == find_images([tmp_path / "*.jpg"]) == expected
    assert skipped == {tmp_path / "pipe", tmp_path / "notes.txt"}
    for path in expected:
        with pytest.raises(BadImage):
            read_image(path)
