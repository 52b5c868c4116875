"""Moment and camera of a photo from its EXIF data."""

from __future__ import annotations

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


def test_seconds_count_across_midnight_and_below_a_second(tmp_path: Path) -> None:
    before = moment(photo(tmp_path / "a.jpg", {TAKEN: "2026:12:31 23:59:59", FRACTION: "900"}))
    after = moment(photo(tmp_path / "b.jpg", {TAKEN: "2027:01:01 00:00:01", FRACTION: "15"}))
    assert before.seconds_to(after) == after.seconds_to(before) == pytest.approx(1.25)


def test_offsets_count_where_both_moments_have_one(tmp_path: Path) -> None:
    summer = moment(photo(tmp_path / "a.jpg", {TAKEN: "2026:10:25 02:59:59", OFFSET: "+02:00"}))
    winter = moment(photo(tmp_path / "b.jpg", {TAKEN: "2026:10:25 02:00:01", OFFSET: "+01:00"}))
    without = moment(photo(tmp_path / "c.jpg", {TAKEN: "2026:10:25 02:59:58"}))
    assert summer.seconds_to(winter) == 2
    assert summer.seconds_to(without) == 1


def test_the_time_of_digitisation_counts_and_that_of_the_last_change_does_not(tmp_path: Path) -> None:
    scanned = photo(tmp_path / "a.jpg", {DIGITISED: "2026:05:01 10:00:00"})
    assert moment(scanned).time.isoformat() == "2026-05-01T10:00:00"
    assert read_moment(photo(tmp_path / "b.jpg", {CHANGED: "2026:05:01 10:00:00"})) is None


def test_photos_without_a_valid_time_and_other_files_have_no_moment(tmp_path: Path) -> None:
    for tags in ({}, {TAKEN: "0000:00:00 00:00:00"}, {TAKEN: "spring"}):
        assert read_moment(photo(tmp_path / "a.jpg", tags)) is None
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "b.jpg").write_text("no photo")
    for path in (tmp_path / "a.jpg", tmp_path / "b.jpg", tmp_path / "none.jpg", tmp_path, "a\0b.jpg"):
        assert read_moment(path) is None


def test_a_truncated_photo_has_a_moment(tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg", {TAKEN: "2026:05:01 10:00:00"})
    path.write_bytes(path.read_bytes()[:-40])
    assert moment(path).time.isoformat() == "2026-05-01T10:00:00"
