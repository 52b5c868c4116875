"""Search for picture files by path, folder and pattern: each once and in order."""

import os
from pathlib import Path

import pytest

from data.errors import BadImage
from data.images.decode import read_image
from data.images.find import find_images


def test_folders_are_searched_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.jpg", "a.PNG", "sub/c.heic", "sub/.hidden.jpg", ".git/d.jpg", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    assert [str(p.relative_to(tmp_path)) for p in find_images([tmp_path])] == ["a.PNG", "b.jpg", "sub/c.heic"]


def test_files_patterns_and_missing_paths_keep_their_order(tmp_path: Path) -> None:
    for name in ("b.jpg", "a.jpg", "odd.dat"):
        (tmp_path / name).write_bytes(b"x")
    given = [tmp_path / "odd.dat", str(tmp_path / "*.jpg"), tmp_path / "none.jpg", tmp_path / "a.jpg"]
    assert [p.name for p in find_images(given)] == ["odd.dat", "a.jpg", "b.jpg", "none.jpg"]


def test_a_pattern_without_matches_returns_an_empty_list(tmp_path: Path) -> None:
    assert find_images([tmp_path / "*.jpg"]) == []


def test_an_existing_file_with_pattern_characters_is_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "bird[1].jpg"
    path.write_bytes(b"x")
    assert find_images([path]) == [Path(path)]


def test_an_impossible_path_does_not_hide_other_paths(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"x")
    for line in ("~no-such-user/x.jpg", "x" * 5000, "a\0b.jpg", "x" * 300 + "/*.jpg"):
        assert tmp_path / "a.jpg" in find_images([line, tmp_path / "a.jpg"]), line


def test_two_stars_within_a_name_match_like_one(tmp_path: Path) -> None:
    for name in ("ab.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in find_images([tmp_path / "a**.jpg"])] == ["ab.jpg"]


def test_symlink_loops_are_visited_once_and_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"x")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "round.jpg").symlink_to(tmp_path / "round.jpg")
    assert find_images([tmp_path]) == [tmp_path / "a.jpg", tmp_path / "round.jpg"]


def test_pipes_and_links_without_a_target_are_found_so_that_reading_reports_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    skipped: set[Path] = set()
    expected = [tmp_path / "gone.jpg", tmp_path / "pipe.jpg"]
    assert find_images([tmp_path], skipped=skipped) == find_images([tmp_path / "*.jpg"]) == expected
    assert skipped == {tmp_path / "pipe"}
    for path in expected:
        with pytest.raises(BadImage):
            read_image(path)


def test_other_files_of_folders_and_patterns_are_collected_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("a.jpg", "notes.txt", "sub/b.XMP", "sub/raw", ".cache/c.txt", ".DS_Store"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    skipped: set[Path] = set()
    find_images([tmp_path, tmp_path / "*", tmp_path / "sub" / "raw"], skipped=skipped)
    assert {str(path.relative_to(tmp_path)) for path in skipped} == {"notes.txt", "sub/b.XMP"}
