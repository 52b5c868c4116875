"""Place, time and camera of photos, as cameras, phones and programs write them."""

import io
import warnings
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from data.images.decode import read_image, read_photo
from data.images.exif import NO_HEMISPHERE, OUT_OF_RANGE, Moment, read_moment, read_shot

MODEL, SERIAL, CHANGED, CHANGED_OFFSET = 0x0110, 0xA431, 0x0132, 0x9010
TAKEN, FRACTION, OFFSET, DIGITISED = 0x9003, 0x9291, 0x9011, 0x9004
SYDNEY = {1: "S", 2: (33.0, 51.0, 30.0), 3: "E", 4: (151.0, 12.0, 36.0)}
UNDEFINED = IFDRational(0, 0)


def exif_of(tags: dict[int, Any], gps: dict[int, Any] | None = None) -> Image.Exif:
    exif = Image.Exif()
    for tag, value in tags.items():
        (exif if tag in {MODEL, CHANGED} else exif.get_ifd(0x8769))[tag] = value
    exif.get_ifd(0x8825).update(gps or {})
    return exif


def jpeg(tags: dict[int, Any], gps: dict[int, Any] | None = None, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((64, 64), 90).save(out, "JPEG", exif=exif_of(tags, gps), **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("gps", "place", "notes"),
    [
        (SYDNEY, (-33.858333, 151.21), ()),
        ({1: "N", 2: (48.0, 23.1234, UNDEFINED), 3: "W", 4: (17.0, 6.2345, UNDEFINED)}, (48.38539, -17.103908), ()),
        ({1: "n\0", 2: (48.0, 23.1234), 3: "w ", 4: (17.0, 6.2345)}, (48.38539, -17.103908), ()),
        ({1: "N", 2: 48.38557, 3: "E", 4: 17.10391}, (48.38557, 17.10391), ()),
        ({1: "South", 2: (37.0, 47.0, 43.08), 3: "East", 4: (144.0, 58.0, 31.08)}, (-37.7953, 144.9753), ()),
        ({1: "S", 2: (-38.0, 1.0, 31.12), 3: "E", 4: (145.0, 17.0, 20.58)}, (-38.025311, 145.28905), ()),
        ({1: "S", 2: (-0.0, 30.0, 0.0), 3: "W", 4: (-1.0, -30.0, 0.0)}, (-0.5, -1.5), ()),
        ({2: -38.5, 4: -70.25}, (-38.5, -70.25), ()),
        ({2: (37.0, 47.0, 43.08), 4: (144.0, 58.0, 31.08)}, None, (NO_HEMISPHERE,)),
        ({1: "S", 2: (37.0, 47.0, 43.08), 3: "", 4: (144.0, 58.0, 31.08)}, None, (NO_HEMISPHERE,)),
        ({1: "Q", 2: 37.0, 3: "E", 4: 144.0}, None, (NO_HEMISPHERE,)),
        ({1: "N", 2: -38.5, 3: "E", 4: 70.25}, None, (OUT_OF_RANGE,)),
        ({1: "N", 2: (95.0, 0.0, 0.0), 3: "E", 4: (10.0, 0.0, 0.0)}, None, (OUT_OF_RANGE,)),
        ({1: "N", 2: (45.0, 99.0, 0.0), 3: "E", 4: (10.0, 0.0, 0.0)}, None, (OUT_OF_RANGE,)),
        ({1: "N", 2: (0.0, 0.0, 0.0), 3: "E", 4: (0.0, 0.0, 0.0)}, None, ()),
        ({1: "N", 2: (UNDEFINED, UNDEFINED, UNDEFINED), 3: "E", 4: (UNDEFINED,) * 3}, None, ()),
        ({1: "N", 2: (5.0, 0.0, 0.0)}, None, ()),
    ],
)
def test_a_place_is_read_as_it_is_meant_or_not_at_all(gps: Any, place: Any, notes: Any) -> None:
    shot = read_shot(Image.new("L", (8, 8)), exif=exif_of({}, gps))
    assert (shot.place, shot.notes) == (place, notes)


@pytest.mark.parametrize(
    ("tags", "date", "moment"),
    [
        ({TAKEN: "2024:05:03 07:12:09", OFFSET: "+10:00"}, "2024-05-03T07:12:09+10:00", True),
        ({TAKEN: "2018-01-20 11:46:00"}, "2018-01-20T11:46:00", True),
        ({TAKEN: "2018/01/20 11:46"}, "2018-01-20T11:46:00", True),
        ({TAKEN: "2018.01.20 11.46.00"}, "2018-01-20T11:46:00", True),
        ({TAKEN: "2018:01:20  9:05:00 \0"}, "2018-01-20T09:05:00", True),
        ({TAKEN: "2018-01-20T11:46:00Z"}, "2018-01-20T11:46:00+00:00", True),
        ({TAKEN: "2018:01:20 11:46:00+0200", OFFSET: "+10:00"}, "2018-01-20T11:46:00+02:00", True),
        ({TAKEN: "2018:01:20 11:46:00.123"}, "2018-01-20T11:46:00", True),
        ({TAKEN: "2018:01:20 01:46:00 PM"}, "2018-01-20T13:46:00", True),
        ({TAKEN: "2019:01:01 24:04:20"}, "2019-01-01T00:04:20", True),
        ({TAKEN: "2019:01:01 23:59:60"}, "2019-01-02T00:00:00", True),
        ({TAKEN: "2024:05:03 07:12:09", OFFSET: "=cmd()"}, "2024-05-03T07:12:09", True),
        ({TAKEN: "2024:05:03 07:12:09", OFFSET: "+9:000"}, "2024-05-03T07:12:09", True),
        ({TAKEN: "2018:01:20"}, "2018-01-20", False),
        ({TAKEN: "0000:00:00 00:00:00", DIGITISED: "2018:01:20 11:46:00"}, "2018-01-20T11:46:00", True),
        ({DIGITISED: "2011:07:19 11:36:38"}, "2011-07-19T11:36:38", True),
        ({CHANGED: "2011:07:19 11:36:38", CHANGED_OFFSET: "-03:00"}, "2011-07-19T11:36:38-03:00", False),
        ({29: "2018:01:20"}, "2018-01-20", False),
        ({TAKEN: "    :  :     :  :  "}, None, False),
        ({TAKEN: "20/01/2018 11:46"}, None, False),
        ({TAKEN: "2018:13:20 11:46:00"}, None, False),
        ({TAKEN: "2018:01:20 25:46:00"}, None, False),
    ],
)
def test_one_order_of_times_gives_dates_and_moments(tags: Any, date: Any, moment: bool) -> None:
    photo = jpeg({tag: value for tag, value in tags.items() if tag > 29}, {k: v for k, v in tags.items() if k <= 29})
    shot = read_shot(Image.open(io.BytesIO(photo)))
    assert (shot.date, shot.moment is not None) == (date, moment)
    text = tags.get(TAKEN, "").strip(" :0")
    assert shot.notes == ((f"Date not used: {tags[TAKEN]!r} is none.",) if text and date is None else ())


def xmp(**properties: str) -> bytes:
    attributes = " ".join(f'{name.replace("_", ":")}="{value}"' for name, value in properties.items())
    return f"<x:xmpmeta><rdf:Description {attributes}/></x:xmpmeta>".encode()


def test_xmp_in_the_file_and_beside_it_fills_what_exif_lacks(tmp_path: Path) -> None:
    own = xmp(exif_GPSLatitude="37,47.5S", exif_GPSLongitude="144,58,30E", exif_DateTimeOriginal="2018-01-20T11:46:00")
    for kind in ("JPEG", "PNG", "WEBP", "TIFF"):
        out = io.BytesIO()
        Image.new("RGB", (64, 64)).save(out, kind, **({"tiffinfo": {700: own}} if kind == "TIFF" else {"xmp": own}))
        if kind != "PNG":  # Pillow writes no XMP there
            photo = read_photo(out.getvalue())
            assert (photo.place, photo.date) == ((-37.791667, 144.975), "2018-01-20T11:46:00"), kind
    beside = (
        b"<rdf:Description><exif:GPSLatitude>12,30N</exif:GPSLatitude>\n<exif:GPSLongitude>7,15W</exif:GPSLongitude>\n"
        b"<photoshop:DateCreated>2020-02-29T10:00:01.5+01:00</photoshop:DateCreated><tiff:Model>Alpha</tiff:Model>"
    )
    for number, name in enumerate(("{}.jpg.xmp", "{}.xmp", "{}.XMP")):
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(jpeg({}))
        (tmp_path / name.format(number)).write_bytes(beside)
        photo = read_photo(path)
        assert (photo.place, photo.date) == ((12.5, -7.25), "2020-02-29T10:00:01+01:00"), name
        assert moment(path).camera == ("Alpha", "")
    path.write_bytes(jpeg({TAKEN: "2019:01:01 10:00:00"}, {2: 5.0, 4: 5.0}, xmp=own))
    photo = read_photo(path)
    assert (photo.place, photo.date, photo.notes) == ((-37.791667, 144.975), "2019-01-01T10:00:00", ())
    (tmp_path / "2.XMP").write_bytes(
        xmp(exif_GPSLatitude="12.5", exif_GPSLatitudeRef="S", exif_GPSLongitude="-7.25", exif_GPSLongitudeRef="W")
    )
    path.write_bytes(jpeg({}))
    assert read_photo(path).place == (-12.5, -7.25)
    (tmp_path / "2.XMP").write_bytes(b"\xff" * 5000)
    path.write_bytes(jpeg({}))
    assert read_photo(path).place is None


def test_damaged_exif_data_count_as_none() -> None:
    content = jpeg({TAKEN: "2024:05:03 07:12:09"})
    start = content.index(b"Exif\0\0")
    broken = content[: start + 6] + b"II*\0\xff\xff\xff\x7f" + content[start + 14 :]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_image(broken).size == (64, 64)


def moment(path: Path) -> Moment:
    found = read_moment(path)
    assert found is not None
    return found


def test_a_moment_has_fraction_offset_and_camera_and_needs_no_readable_picture(tmp_path: Path) -> None:
    tags = {TAKEN: "2026:05:01 23:59:59", FRACTION: "25", OFFSET: "+02:00", MODEL: "Alpha", SERIAL: "42\0"}
    for name in ("a.jpg", "a.png", "a.webp"):
        Image.effect_noise((64, 64), 90).save(tmp_path / name, exif=exif_of(tags))
        if name == "a.jpg":
            (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-40])
        found = moment(tmp_path / name)
        assert found.time.isoformat() == "2026-05-01T23:59:59.250000+02:00"
        assert found.camera == ("Alpha", "42")
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    for path in (tmp_path / "a.jpg", tmp_path / "none.jpg", tmp_path, "a\0b.jpg"):
        assert read_moment(path) is None
