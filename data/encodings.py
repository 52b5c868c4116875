"""Encoding of a text file of unknown origin: byte-order mark, UTF-8, UTF-16, or the likeliest code page."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Callable
from typing import BinaryIO, Final

from data.errors import BadInput

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_BLOCK: Final = 2**20
_SAMPLE: Final = 2**18
"""Bytes of lines with foreign letters by which a code page is chosen."""
SAVE_AS_UTF_8: Final = "Save the file as UTF-8 (in Excel: CSV UTF-8)."
_WESTERN: Final = (
    "äöüß",
    "àâæçéèêëîïôœùûüÿ",
    "áéíóúüñ",
    "áâãàçéêíóôõú",
    "àèéìòóù",
    "åäöé",
    "æøåé",
    "áàçèéíïòóúü",
    "áéëïóöü",
)
_CENTRAL: Final = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîșşțţ")
_CYRILLIC: Final = ("абвгдежзийклмнопрстуфхцчшщъыьэюяёієїґўђјљњћџѓѕќ",)
ALPHABETS: Final = (
    ("cp1252", _WESTERN),
    ("cp1254", ("çğıİöşü",)),
    ("cp1252", ("áðéíóúýþæö",)),
    ("mac_roman", _WESTERN),
    ("cp1250", _CENTRAL),
    ("iso8859_2", _CENTRAL),
    ("cp1251", _CYRILLIC),
    ("cp1253", ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",)),
    ("cp1257", ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž")),
    ("cp850", _WESTERN),
    ("mac_latin2", _CENTRAL),
    ("koi8_r", _CYRILLIC),
    ("mac_cyrillic", _CYRILLIC),
    ("cp866", _CYRILLIC),
)
"""Code pages, the most usual first, with the letters beyond ASCII of each language that is written in them."""
_EASTERN: Final = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_MARKS_IN_TEXT: Final = frozenset("’‘“”„«»–—…°·×†±½¼²€§©®ªº¿¡´•\xa0")
_BETWEEN_LETTERS: Final = frozenset("’‘–—·×´\xa0")


def encoding_of(reading: Callable[[], BinaryIO], place: str) -> tuple[str, bool]:
    """Return the encoding of a file, and whether it is a guess (a code page, which nothing in the file names).

    Args:
        reading: opens the file, in binary; it is read in blocks.
        place: name of the file in messages.

    Raises:
        BadInput: for a binary file, and for one that is UTF-8 except for some lines; with the line.
    """
    with reading() as stream:
        head = stream.read(_BLOCK)
        for mark, name in _MARKS:
            if head.startswith(mark):
                return name, False
        if b"\0" in head:
            if wide := _without_mark(head):
                return wide, False
            raise BadInput(f"{place} is a binary file, expected text.")
        decoder, foreign, line = codecs.getincrementaldecoder("utf-8")(), bytearray(), 0
        first = 0
        block = head
        try:
            while block:
                decoder.decode(block)
                line += block.count(b"\n")
                block = stream.read(_BLOCK)
            decoder.decode(b"", final=True)
            return "utf-8", False
        except UnicodeDecodeError as error:
            first = line + error.object[: error.start].count(b"\n") + 1
    with reading() as stream:
        for each in stream:
            if not each.isascii() and len(foreign) < _SAMPLE:
                foreign += each[:_SAMPLE]
    return _code_page(bytes(foreign), f"{place}: line {first}"), True


def _without_mark(head: bytes) -> str:
    """Return the byte order of UTF-16 without a mark: one byte of each pair is zero in most text; empty if neither."""
    if len(head) < 4 or len(head) % 2:
        return ""
    half = len(head) // 2
    even, odd = head[::2].count(0) / half, head[1::2].count(0) / half
    return "utf-16-le" if odd > 0.4 > even * 4 else "utf-16-be" if even > 0.4 > odd * 4 else ""


def _code_page(sample: bytes, place: str) -> str:
    """Return the code page in which a sample has the fewest letters that no one language would write."""
    n_letters = sum(byte > 127 for byte in sample)
    best: tuple[float, str] = (n_letters / 20, "")
    for page, languages in ALPHABETS:
        try:
            text = sample.decode(page)
        except UnicodeDecodeError:
            continue
        misses: float = min(_misses(text, letters) for letters in languages)
        if languages is _WESTERN and page == "cp1252":  # names of people and places in several languages
            misses = min(misses, _misses(text, "".join(languages)) + n_letters / 25)
        if misses < best[0]:
            best = misses, page
    if best[1]:
        return best[1]
    lines = sample.splitlines()
    whole = [text for line in lines if (text := _as_utf_8(line))]
    # By chance, a line in a Chinese encoding is UTF-8 too, but of rare letters.
    if len(whole) * 5 >= len(lines) and any(_is_usual(text) for text in whole):
        what = "expected UTF-8 text, as on other lines; the file mixes encodings"
        raise BadInput(f"{place}: {what}.", hint=SAVE_AS_UTF_8)
    from charset_normalizer import from_bytes

    found = from_bytes(sample, cp_isolation=list(_EASTERN)).best() or from_bytes(sample).best()
    if found is None:
        raise BadInput(f"{place}: expected UTF-8 text.", hint=SAVE_AS_UTF_8)
    return found.encoding


def _misses(text: str, letters: str) -> int:
    """Return the number of characters that are foreign to a language, or within words of another case or script."""
    is_latin = letters[0].isascii() or unicodedata.name(letters[0]).startswith("LATIN")
    known = frozenset(letters + letters.upper())
    n = sum(not (each.isascii() or each in known or each in _MARKS_IN_TEXT) for each in text)
    for before, each, after in zip(text, text[1:], text[2:], strict=False):
        if not each.isascii():
            inside = before.isalpha() and after.isalpha()
            n += (inside and not each.isalpha() and each not in _BETWEEN_LETTERS) or (
                before.islower() and each.isupper()
            )
            n += not is_latin and each.isalpha() and (_is_plain(before) or _is_plain(after))
        else:
            n += not before.isascii() and before.islower() and each.isupper()
    return n


def _as_utf_8(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return ""


def _is_usual(text: str) -> bool:
    """Return whether all letters are of one language of `ALPHABETS`, or of a script that UTF-8 writes in 3 bytes."""
    return max(text) > "\u0800" or any(not _misses(text, each) for _, languages in ALPHABETS for each in languages)


def _is_plain(letter: str) -> bool:
    return letter.isascii() and letter.isalpha()
