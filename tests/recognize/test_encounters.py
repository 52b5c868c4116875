from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.images.decode import Photo
from data.images.exif import Moment
from data.records import Box, Detection, EncounterPhoto
from recognize import Recognizer, bursts
from recognize.encounters import MOST_PHOTOS, KeptPhotos, encode_encounters
from recognize.photos import encode_pictures
from tests.recognize.birds_in_memory import bird

START = datetime(2026, 5, 1, 23, 59, 58)


def taken(second: float, camera: str = "A") -> Moment:
    return Moment(time=START + timedelta(seconds=second), camera=(camera, ""))


def grouped(moments: dict[str, Moment | None], *, seconds: float = 2) -> list[tuple[str, ...]]:
    return list(bursts(moments, seconds=seconds, moment=moments.__getitem__))


def test_a_burst_holds_photos_of_one_camera_within_seconds_of_the_one_before() -> None:
    found = grouped({"a": taken(0), "b": taken(2), "c": taken(4), "d": taken(6.1)})
    assert found == [("a", "b", "c"), ("d",)], "also across midnight"
    assert grouped({"a": taken(0), "b": taken(0.4), "c": taken(1.0)}, seconds=0.5) == [("a", "b"), ("c",)]
    numbers = {"p (1)": taken(0), "p (10)": taken(90), "p (2)": taken(1), "p (3)": taken(2)}
    assert grouped(numbers) == [("p (1)", "p (2)", "p (3)"), ("p (10)",)], "by time, not by name"
    without = grouped({"a": taken(0), "b": None, "c": taken(1), "d": None})
    assert without == [("a", "c"), ("b",), ("d",)], "a photo without a time is alone"
    moments = {"a": taken(0, "A"), "b": taken(900, "B"), "c": taken(1, "A"), "d": taken(901, "B"), "e": taken(99, "A")}
    assert grouped(moments) == [("a", "c"), ("b", "d"), ("e",)], "cameras may alternate"
    long = {f"{number:04}": taken(number) for number in range(MOST_PHOTOS + 9)}
    assert [len(burst) for burst in grouped(long)] == [MOST_PHOTOS, 9]


def test_a_camera_is_known_by_its_serial_number_or_else_by_its_folder_or_memory_card() -> None:
    def with_serial(second: float, serial: str) -> Moment:
        return replace(taken(second), camera=("A", serial))

    assert grouped({"x/a": taken(0), "y/b": taken(0), "y/c": taken(1)}) == [("x/a",), ("y/b", "y/c")]
    assert grouped({"x/a": with_serial(0, "7"), "y/b": with_serial(1, "7")}) == [("x/a", "y/b")]
    assert grouped({"x/a": with_serial(0, "7"), "x/b": with_serial(1, "8")}) == [("x/a",), ("x/b",)]
    assert grouped({"x/a": with_serial(0, "70"), "x/b": with_serial(1, "7")}) == [("x/a",), ("x/b",)]
    assert grouped({"x/a": with_serial(0, "0000"), "y/b": with_serial(1, "0000")}) == [("x/a",), ("y/b",)]
    assert grouped({"1/100RECNX/a": taken(0), "1/101RECNX/b": taken(1)}) == [("1/100RECNX/a", "1/101RECNX/b")]
    assert len(grouped({"1/100RECNX/a": taken(0), "2/101RECNX/b": taken(1)})) == 2


def test_offsets_from_utc_count_where_all_photos_of_a_camera_have_one() -> None:
    def at(time: str) -> Moment:
        return Moment(time=datetime.fromisoformat(time), camera=("A", ""))

    summer, winter = at("2026-10-25T02:59:59+02:00"), at("2026-10-25T02:00:01+01:00")
    assert grouped({"a": summer, "b": winter}) == [("a", "b")]
    assert grouped({"a": summer, "b": winter, "c": at("2026-10-25T02:59:58")}) == [("c", "a"), ("b",)]


def test_the_query_of_an_encounter_is_the_mean_of_its_photos(encoders: Any) -> None:
    pictures = [bird("crimson"), bird("gold"), bird("black")]
    alone = encode_pictures(encoders, pictures)
    [(found, queries, _)] = list(encode_encounters([pictures], KeptPhotos(encoders, batch_size=32)))
    assert [len(each.photos) for each in found] == [3]
    for mean, rows in zip((*queries.text_image, queries.visual), (*alone.text_image, alone.visual), strict=True):
        np.testing.assert_allclose(mean[0], rows.mean(axis=0), atol=1e-6)


def test_encounters_keep_their_order_and_depend_on_neither_batches_nor_copies(store: Any, encoders: Any) -> None:
    sources = [
        [bird("crimson"), bird("orange")], bird("gold"), (bird("black"), bird("grey"), bird("navy")),
        [bird("gold")], [bird("gold")] * 4,
    ]  # fmt: skip
    alone = [next(Recognizer(store, encoders).identify([source])) for source in sources]
    for batch_size in (2, 32):
        rows = list(Recognizer(store, encoders, batch_size=batch_size).identify(sources))
        assert [row.candidates for row in rows] == [row.candidates for row in alone]
        assert [len(row.photos) for row in rows] == [2, 0, 3, 1, 4]
        assert rows[3].candidates == rows[1].candidates
        scores = [[each.score for each in row.candidates] for row in (rows[1], rows[4])]
        assert scores[1] == pytest.approx(scores[0])


def test_unreadable_photos_are_named_and_the_others_answer(store: Any, encoders: Any, tmp_path: Path) -> None:
    good = tmp_path / "good.png"
    bird("gold", x=2).save(good)
    bad, none = tmp_path / "bad.jpg", tmp_path / "none.jpg"
    bad.write_bytes(b"\xff\xd8\xff\xe0")
    row, failed, alone = Recognizer(store, encoders, batch_size=1).identify([[bad, good, none], [bad, none], good])
    assert (row.status, row.image, row.shown_image) == ("identified", str(bad), str(good))
    assert row.candidates == alone.candidates
    assert [(photo.image, photo.error is None) for photo in row.photos] == [
        (str(bad), False), (str(good), True), (str(none), False),
    ]  # fmt: skip
    assert (failed.status, failed.error, len(failed.photos)) == ("error", row.photos[0].error, 2)
    assert row.photos[1] == EncounterPhoto(image=str(good), size=(96, 96))
    with pytest.raises(ValueError, match="at least one photo in an encounter"):
        list(Recognizer(store, encoders).identify([[]]))


class Named:
    """A detector that finds two birds in large pictures, the left one better, and none in others."""

    name = "named"

    def detect(self, pictures: Any) -> list[tuple[Detection, ...]]:
        left = Detection(box=Box(0, 0, 96, 96), kind="bird", score=0.9)
        right = Detection(box=Box(96, 0, 192, 96), kind="bird", score=0.8)
        return [(left, right) if picture.width == 192 else () for picture in pictures]


def test_the_best_bird_of_each_photo_counts_and_has_its_box(store: Any, encoders: Any) -> None:
    both = Image.new("RGB", (192, 96), "white")
    both.paste(bird("crimson"), (0, 0))
    both.paste(bird("gold"), (96, 0))
    recognizer = Recognizer(store, replace(encoders, detector=Named()))
    assert [row.answer.name for row in recognizer.identify([both])] == ["Cardinalis cardinalis", "Spinus tristis"]
    [row] = recognizer.identify([[bird("crimson"), both]])
    assert (row.answer.name, row.box, row.n_birds) == ("Cardinalis cardinalis", None, 1)
    assert [photo.box for photo in row.photos] == [None, Box(0, 0, 96, 96)]
    assert row.shown_box is None
    [turned] = recognizer.identify([[both, bird("crimson")]])
    assert turned.shown_box == Box(0, 0, 96, 96)
    kinds = {192: {"kind": "dog", "score": 0.6}, 96: {"kind": "cat", "score": 0.9}}
    detect = lambda some: [(Detection(box=Box(0, 0, 9, 9), **kinds[each.width]),) for each in some]  # noqa: E731
    blank = [Image.new("RGB", (width, 96), "white") for width in kinds]
    animals = SimpleNamespace(name="animals", detect=detect)
    [row] = Recognizer(store, replace(encoders, detector=animals)).identify([blank])
    assert (row.status, row.shows) == ("no_bird", "cat"), "the surest animal"


def test_place_and_date_come_from_the_first_photo_that_has_them(store: Any, encoders: Any) -> None:
    photos = [
        Photo(image=bird("crimson")),
        Photo(image=bird("crimson"), date="2026-05-01T08:00:00"),
        Photo(image=bird("crimson"), place=(47.0, 8.5), date="2026-05-02T08:00:00"),
        Photo(image=bird("crimson"), place=(0.0, 0.0)),
    ]
    [row] = Recognizer(store, encoders).identify([photos])
    assert (row.place, row.date) == ((47.0, 8.5), "2026-05-01T08:00:00")
