import os
from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

import pytest

from data.errors import BadImage
from data.images.decode import read_image
from data.images.find import ListedFiles, Skipped, find_images


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
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


def names(found: Iterable[Path], root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in found)


def test_a_folder_and_a_pattern_leave_out_the_same_hidden_files_and_folders(tmp_path: Path) -> None:
    write(
        tmp_path, "a.jpg", "b/c.JPG", "b/._c.JPG", ".dtrash/files/d.jpg", "#recycle/e.jpg", "b/@eaDir/c.JPG/THUMB.jpg",
        "$RECYCLE.BIN/f.jpg", "__MACOSX/._a.jpg", "b/g.jfif", "b/h.xmp", "b/i.txt",
    )  # fmt: skip
    for given in (tmp_path, tmp_path / "**", tmp_path / "**/*.*"):
        skipped = Skipped()
        assert names(find_images([given], skipped=skipped), tmp_path) == ["a.jpg", "b/c.JPG", "b/g.jfif"], given
        assert names(skipped.files, tmp_path) == ["b/i.txt"]
        assert names(skipped.folders, tmp_path) == ["#recycle", "$RECYCLE.BIN", "__MACOSX", "b/@eaDir"]
    for pattern, expected in (
        ("**/c.*", ["b/c.JPG"]),
        ("*/*.JPG", ["b/c.JPG"]),
        ("*/**/*.jpg", []),
        ("#recycle/*.jpg", ["#recycle/e.jpg"]),  # as named
    ):
        assert names(find_images([tmp_path / pattern]), tmp_path) == expected, pattern


def test_linked_folders_are_followed_once_and_those_above_are_named(tmp_path: Path) -> None:
    write(tmp_path, "library/2024/b.jpg", "real/a.jpg", "real/deep/c.jpg")
    library = tmp_path / "library"
    for name, target in (("2023", "../real"), ("again", "../real/deep"), ("self", "."), ("up", "..")):
        (library / name).symlink_to(target)
    (library / "2024/round.jpg").symlink_to(library / "2024/round.jpg")
    for given in (library, library / "**/*.jpg"):
        skipped = Skipped()
        found = names(find_images([given], skipped=skipped), library)
        assert len(found) == 4 and {"2023/a.jpg", "2024/b.jpg", "2024/round.jpg"} < set(found)
        assert skipped.folders == {library / "up"}


def test_a_list_finds_files_in_other_spellings_where_they_are_clear(tmp_path: Path) -> None:
    nfd, nfc = normalize("NFD", "Ötztal.jpg"), normalize("NFC", "Ötztal.jpg")
    write(tmp_path, f"Site A/{nfd}", "Site A/IMG_1.JPG", "x.jpg", "X.JPG", "back\\slash.jpg")
    listed = ListedFiles(tmp_path)
    for name, found in (
        (f"Site A/{nfc}", f"Site A/{nfd}"),
        ("Site A\\IMG_1.JPG", "Site A/IMG_1.JPG"),
        ("site a\\img_1.jpg", "Site A/IMG_1.JPG"),
        (f"site A/{nfc.upper()}", f"Site A/{nfd}"),
        (str(tmp_path / "SITE A/img_1.jpg"), "Site A/IMG_1.JPG"),
        ("x.jpg", "x.jpg"),
        ("x.JPG", "x.JPG"),  # two files differ in case alone
        ("none\\a.jpg", "none\\a.jpg"),
        ("back\\slash.jpg", "back\\slash.jpg"),
    ):
        assert listed.path_of(name) == tmp_path / found, name
    assert find_images([f"{tmp_path}/site a/{nfc}", f"{tmp_path}/SITE A"]) == [
        tmp_path / "Site A" / name for name in (nfd, "IMG_1.JPG")
    ]


def test_pipes_and_links_without_a_target_are_found_and_other_files_collected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path, "notes.txt", ".cache/c.txt", ".DS_Store")
    skipped = Skipped()
    expected = [tmp_path / "gone.jpg", tmp_path / "pipe.jpg"]
    assert find_images([tmp_path], skipped=skipped) == find_images([tmp_path / "*.jpg"]) == expected
    assert skipped.files == {tmp_path / "pipe", tmp_path / "notes.txt"}
    for path in expected:
        with pytest.raises(BadImage):
            read_image(path)
