"""Moment and camera of a photo from its EXIF data."""

from pathlib import Path

import pytest
from PIL import Image

from data.images.moment import Moment, read_moment

MODEL, SERIAL, CHANGED = 0x0110, 0xA431, 0x0132
TAKEN, FRACTION, OFFSET, DIGITISED = 0x9003, 0x9291, 0x9011, 0x9004


def photo(path: Path, tags: dict[int, str]) -> Path:
    exif = Image.Exif()
    for tag, value in tags.items():
        (exif if tag in {MODEL, CHANGED} else exif.get_ifd(0x8769))[tag] = value
    Image.effect_noise((64, 64), 90).save(path, exif=exif)
    return path


def moment(path: Path) -> Moment:
    found = read_moment(path)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.webp"])
def test_time_with_fraction_offset_and_camera(tmp_path: Path, name: str) -> None:
    tags = {TAKEN: "2026:05:01 23:59:59", FRACTION: "25", OFFSET: "+02:00", MODEL: "Alpha", SERIAL: "42\0"}
    found = moment(photo(tmp_path / name, tags))
    assert found.time.isoformat() == "2026-05-01T23:59:59.250000+02:00"
    assert found.camera == ("Alpha", "42")


def test_seconds_count_across_midnight_and_with_offsets_where_both_moments_have_one(tmp_path: Path) -> None:
    new_year = ({TAKEN: "2026:12:31 23:59:59", FRACTION: "900"}, {TAKEN: "2027:01:01 00:00:01", FRACTION: "15"})
    summer = {TAKEN: "2026:10:25 02:59:59", OFFSET: "+02:00"}
    for one, other, seconds in (
        (*new_year, 1.25), (*new_year[::-1], 1.25), (summer, {TAKEN: "2026:10:25 02:00:01", OFFSET: "+01:00"}, 2),
        (summer, {TAKEN: "2026:10:25 02:59:58"}, 1),
    ):  # fmt: skip
        found = moment(photo(tmp_path / "a.jpg", one)).seconds_to(moment(photo(tmp_path / "b.jpg", other)))
        assert found == pytest.approx(seconds)


def test_digitised_and_truncated_photos_have_a_moment_and_the_last_change_is_none(tmp_path: Path) -> None:
    for tag in (DIGITISED, TAKEN):
        path = photo(tmp_path / "a.jpg", {tag: "2026:05:01 10:00:00"})
        path.write_bytes(path.read_bytes()[:-40])
        assert moment(path).time.isoformat() == "2026-05-01T10:00:00"
    assert read_moment(photo(tmp_path / "b.jpg", {CHANGED: "2026:05:01 10:00:00"})) is None


def test_photos_without_a_valid_time_and_other_files_have_no_moment(tmp_path: Path) -> None:
    for tags in ({}, {TAKEN: "0000:00:00 00:00:00"}, {TAKEN: "spring"}):
        assert read_moment(photo(tmp_path / "a.jpg", tags)) is None
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "b.jpg").write_text("no photo")
    for path in (tmp_path / "a.jpg", tmp_path / "b.jpg", tmp_path / "none.jpg", tmp_path, "a\0b.jpg"):
        assert read_moment(path) is None
