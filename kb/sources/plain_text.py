"""Text with sections: parsing of plain and Markdown texts and of HTML, cleaning, joining."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from data.prompts import one_line
from data.records import Section

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_PLAIN_HEADING = re.compile(r"^([A-Z][\w ,&-]{2,50}):$")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_INVISIBLE = dict.fromkeys((0x200B, 0xFEFF, 0x00AD))  # zero-width blank, byte order mark, soft hyphen
_SPACES = re.compile(r"\s+")
_BEFORE_PUNCTUATION = re.compile(r" +([,.;:!?)\]])")
_EMPTY_BRACKETS = re.compile(r"\s?[(\[][\s;,]*[)\]]")
MAX_TITLE = 300
_FOOTNOTE = re.compile(r"\[(?:\d{1,3}|[a-z]|note \d+|citation needed)\]")


@dataclass(slots=True)
class Passage:
    """A heading with the blocks of prose below it, up to the next heading."""

    title: str
    level: int
    blocks: list[str] = field(default_factory=list)


def parse_text(body: str) -> tuple[str, tuple[Section, ...]]:
    """Return the text and sections of a plain or Markdown text; each paragraph becomes a line, as in parsed pages."""
    passages = [Passage("", 1)]
    for block in re.split(r"\n\s*\n", body.replace("\r\n", "\n").replace("\r", "\n")):
        lines: list[str] = []
        for line in block.split("\n"):
            stripped = line.strip()
            heading = _HEADING.match(stripped)
            plain = _PLAIN_HEADING.match(stripped) if not lines else None
            if heading or plain:
                _add_block(passages, lines)
                lines = []
                # The first heading of a file is its title, not a section.
                title, level = (heading[2], max(2, len(heading[1]))) if heading else (plain[1] if plain else "", 2)
                is_title = (
                    heading is not None and len(heading[1]) == 1 and len(passages) == 1 and not passages[0].blocks
                )
                if not is_title:
                    passages.append(Passage(clean(title), level))
            elif stripped:
                lines.append(re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", stripped))
        _add_block(passages, lines)
    return join_passages(passages)


def _add_block(passages: list[Passage], lines: list[str]) -> None:
    text = clean(_MARKDOWN_LINK.sub(r"\1", " ".join(lines)).replace("**", "").replace("__", "").replace("`", ""))
    text = re.sub(r"(?<!\w)[*_]([^*_]+)[*_](?!\w)", r"\1", text)
    if text:
        passages[-1].blocks.append(text)


def join_passages(passages: Iterable[Passage]) -> tuple[str, tuple[Section, ...]]:
    """Return the text of an article, one paragraph per line and an empty line between sections, and its sections."""
    parts: list[str] = []
    sections: list[Section] = []
    position = 0
    for passage in passages:
        prose = "\n".join(passage.blocks)
        if prose and parts:
            parts.append("\n\n")
            position += 2
        sections.append(Section(title=passage.title, level=passage.level, start=position, end=position + len(prose)))
        if prose:
            parts.append(prose)
            position += len(prose)
    return "".join(parts), tuple(sections)


def clean(text: str) -> str:
    """Return a text in one line: NFC, single spaces, without footnote marks and empty brackets."""
    shown = unicodedata.normalize("NFC", text).translate(_INVISIBLE)
    line = _SPACES.sub(" ", _EMPTY_BRACKETS.sub("", _FOOTNOTE.sub("", shown)))
    return _BEFORE_PUNCTUATION.sub(r"\1", line).replace("( ", "(").strip()


def visible(text: str) -> str:
    r"""Return a text without control, direction and other invisible characters; line ends stay."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(sign for sign in lines if sign == "\n" or unicodedata.category(sign)[0] != "C")


def title_of(text: str) -> str:
    """Return a title in one line of at most 300 characters."""
    return one_line(text)[:MAX_TITLE]


def soup_of(html: str, parser: str = "html.parser") -> BeautifulSoup:
    """Return parsed HTML, by Python's own parser or one that Beautiful Soup knows by name.

    A text without tags gets a line end: else Beautiful Soup warns at length of texts that look like addresses or names
    of files, such as the credit of a photo.
    """
    from bs4 import BeautifulSoup

    return BeautifulSoup(html if "<" in html else f"{html}\n", parser)


_HIDDEN_CLASSES = (
    ".sortkey, .nodisplay, .geo-nondefault, .geo-multi-punct, .sr-only, .visually-hidden, .visuallyhidden, "
    ".screen-reader-text"
)
MAX_CSS_CHARACTERS = 1_000_000
"""Of a page with more of them, no rule counts."""
MAX_COMPARISONS = 300_000
"""Of elements with style rules: a second. Further elements count as shown."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SIMPLE = re.compile(r"[\w.#*-]+(?:\s+[\w.#*-]+)*(?:\s*>\s*[\w.#*-]+)?")
_PART = re.compile(r"[.#\[]?[\w-]+")
_ATTRIBUTE = re.compile(r"\[\s*([\w-]+)[^\]]*\]?")
_STATE = re.compile(r":(?:hover|focus|active|target|before|after|root|host)|::")
_FONT_SIZE = re.compile(r"(?:^|\s)(0|[\d.]+(?:[a-z]+|%))(?=[/\s]|$)")
_SIDES = ("left", "right", "top", "bottom")
_INHERITED = frozenset(("visibility", "font-size", "color"))
_SIZES = ("width", "height", "max-width", "max-height")
_UNIT, _EM = "(?:px|pt|%)?", "(?:em|rem|ch|vw|vh)"
_ZERO = rf"-?(?:0+(?:\.0*)?|\.0+)(?:{_UNIT}|{_EM})"
_FAR, _INDENT = (  # -900 and -500 pixels, at ten pixels an em
    rf"-0*(?:(?:[{n}-9]\d\d|[1-9]\d{{3,}})(?:\.\d*)?{_UNIT}|(?:[{n}-9]\d|[1-9]\d\d+)(?:\.\d*)?{_EM})" for n in (9, 5)
)
_NEUTRAL = re.compile(
    rf"{_ZERO}|none|auto|normal|inherit|initial|unset|revert|currentcolor|(?:border|padding|content)-box"
)
_RELATIVE = re.compile(r"[\d.]+(?:em|%)|larger|smaller")
"""Font sizes that keep text of size 0 invisible."""
_HIDING: Final = {
    name: (re.compile(values), frozenset(unless.split()))
    for name, values, unless in (
        ("display", "none", ""), ("visibility", "hidden|collapse", ""), ("content-visibility", "hidden", ""),
        ("opacity", _ZERO, "animation animation-name transition"), ("font-size", rf"{_ZERO}|1px|1pt", ""),
        # Letters cut out of their background, or of shadow alone.
        ("color", "transparent", "background-clip -webkit-background-clip text-shadow"),
        ("text-indent", _INDENT, ""), *((side, _FAR, "") for side in _SIDES),
        *((f"margin-{side}", _FAR, f"{side} padding padding-{side} transform") for side in ("left", "top")),
        ("clip", r"rect\((?:[01](?:px|em|%)?[, ]*){4}\)", ""), ("clip-path", r"inset\((?:50|100)%\)", ""),
        ("transform", rf"scale[xy3d]*\(0[,)].*|.*translate[xy3d]*\((?:[^()]*,)? ?(?:{_FAR}) ?(?:,[^()]*)?\).*", ""),
    )
}  # fmt: skip
"""Property -> values that hide, and the properties beside which they may not."""
_OF_USE = frozenset(
    (*_HIDING, *_SIZES, "overflow", "min-width", "min-height", "padding", *(f"padding-{side}" for side in _SIDES))
).union(*(unless for _, unless in _HIDING.values()))
_Style = dict[str, str]
_Declared = dict[str, tuple[bool, str]]
"""Property -> whether it is important, and its value."""
_Weight = tuple[bool, bool, int, int, int, int]
"""Important, inline, number of ids, classes and names in the selector, place in the page: the highest counts."""


@dataclass(slots=True)
class _Rule:
    """A style rule of a page, by the parts of its selector from the element outwards."""

    parts: list[set[str]]
    is_direct: bool
    """Its second part is the parent."""
    weight: _Weight
    declared: _Declared


def remove_hidden(root: Tag) -> None:
    """Remove what a reader does not see: by attributes, usual classes and the simple style rules of the page.

    As in a browser, the weightiest rule counts for an element; in doubt an element is shown. Panels of tabs stay,
    since a click shows them. Rules of `@media` and for attributes only show, those for states do not count.
    """
    tags, left = [(tag, {*_keys(tag)}) for tag in root.find_all(True)], MAX_COMPARISONS
    rules = _rules(root, set().union(*(keys for _, keys in tags)))
    hidden = {id(tag) for tag in root.select(_HIDDEN_CLASSES)}
    hidden_in: dict[int, set[str]] = {}  # a tag may show itself in one whose text is hidden
    for tag, keys in tags:
        if tag.decomposed:
            continue
        near = [rule for key in keys & rules.keys() for rule in rules[key]] if left > 0 else []
        found = [rule for rule in near if rule.parts[0] <= keys]
        around = [{*_keys(parent)} for parent in tag.parents] if any(len(rule.parts) > 1 for rule in found) else []
        left -= len(near) + len(around) * len(found)
        fitting = [rule for rule in found if _fits(rule, around)] if left > 0 else []
        style = _style(tag, fitting)
        if (id(tag) in hidden or _hides(style, _OF_USE - _INHERITED)) and not _stays(tag):
            tag.decompose()
            continue
        found_in = hidden_in[id(tag)] = set(hidden_in.get(id(tag.parent), ()))
        for name in style.keys() & _INHERITED:
            if _hides(style, (name,)) and not _stays(tag):
                found_in.add(name)
            elif _changes(name, style) and not _RELATIVE.fullmatch(style[name]):
                found_in.discard(name)
        if "visibility" in found_in and tag.name == "img":
            tag.decompose()
        for string in tag.find_all(string=True, recursive=False) if found_in else ():
            string.extract()


def _stays(tag: Tag) -> bool:
    """Return whether a page shows a tag later: its body when its script has run, and a panel at a click."""
    return tag.name in ("html", "body") or "tabpanel" in tag.get_attribute_list("role")


def _keys(tag: Tag) -> list[str]:
    """Return what a part of a selector may ask of an element."""
    classes = dict.fromkeys(f".{each}" for each in tag.get_attribute_list("class") if each)
    return ["*", tag.name.lower(), *classes, f"#{tag.get('id')}", *(f"[{name}" for name in tag.attrs)]


def _rules(root: Tag, keys: set[str]) -> dict[str, list[_Rule]]:
    """Return the style rules of a page that may hide or show elements with these keys, by one key of the element."""
    css = "\n".join(_css(style) for style in root.find_all("style"))
    pieces = re.split(r"([{}])", _COMMENT.sub(" ", css)) if len(css) <= MAX_CSS_CHARACTERS else []
    found: dict[str, list[_Rule]] = {}
    around: list[str] = []
    for place, (text, brace) in enumerate(zip(pieces[::2], pieces[1::2], strict=False)):
        if brace == "{":
            around.append(text.rsplit(";", 1)[-1].strip())
            continue
        selectors = around.pop() if around else "@"
        if selectors.startswith("@") or any(each.startswith("@") and "print" in each for each in around[:2]):
            continue
        declared = _declared(text)
        for selector in selectors.split(",") if declared else ():
            rule = _rule(selector.strip(), declared, place, is_certain=not around)
            if rule.declared and keys >= set().union(*rule.parts) and not _STATE.search(selector):
                key = max(rule.parts[0], default="*", key=lambda each: (each[0] == "#", each[0] == ".", each))
                found.setdefault(key, []).append(rule)
    return found


def _css(style: Tag) -> str:
    media = str(style.get("media") or "all").strip().lower()
    return style.get_text() if media in ("all", "screen") else f"@media {media} {{ {style.get_text()} }}"


def _rule(selector: str, declared: _Declared, place: int, *, is_certain: bool) -> _Rule:
    """Return a rule; of a selector that is not simple, its last part without conditions, which only shows."""
    is_simple = is_certain and _SIMPLE.fullmatch(selector) is not None
    plain = re.sub(r":[\w-]+(?:\([^)]*\)?)?", "", _ATTRIBUTE.sub(r"[\1", selector)).strip()
    names = [_PART.findall(part) for part in reversed(re.split(r"[\s>+~]+", plain))]
    parts = [{each if each[0] in ".#[" else each.lower() for each in part} for part in names]
    weights = [sum(key[0] == sign for part in names for key in part) for sign in "#."]
    shown = {
        name: each for name, each in declared.items() if not _hides({name: each[1], "overflow": "hidden"}, (name,))
    }
    return _Rule(
        parts=parts if is_simple else parts[:1],
        is_direct=">" in selector,
        weight=(False, False, weights[0] if is_simple else 99, weights[1], sum(map(len, names)) - sum(weights), place),
        declared=declared if is_simple else shown if names[0] else {},
    )


def _declared(style: str) -> _Declared:
    """Return the declared properties that may hide or show."""
    found: _Declared = {}
    for each in _COMMENT.sub("", style).lower().split(";"):
        name, _, value = (part.strip() for part in each.partition(":"))
        value, _, important = (part.strip() for part in value.partition("!"))
        if name == "font":
            size = _FONT_SIZE.search(value)
            name, value = "font-size", size[1] if size else "1em"
        if name in _OF_USE and value and (important or not found.get(name, (False,))[0]):
            found[name] = bool(important), " ".join(value.split())
    return found


def _fits(rule: _Rule, around: Sequence[set[str]]) -> bool:
    """Return whether the parents of an element fit a selector; the nearest that fits a part is taken for it."""
    parents = iter(around)
    for n, part in enumerate(rule.parts[1:]):
        nearest = islice(parents, 1) if rule.is_direct and n == 0 else parents
        if not any(part <= parent for parent in nearest):
            return False
    return True


def _style(tag: Tag, rules: Iterable[_Rule]) -> _Style:
    """Return the style of an element, by its own rules and those of the page that fit."""
    never = tag.has_attr("hidden") or tag.name == "template" or (tag.name == "dialog" and not tag.has_attr("open"))
    own: _Weight = (False, True, 0, 0, 0, 0)
    found: dict[str, tuple[_Weight, str]] = {"display": ((False, False, -1, 0, 0, 0), "none")} if never else {}
    stated = [(rule.declared, rule.weight) for rule in rules]
    for declared, weight in [*stated, (_declared(str(tag.get("style") or "")), own)]:
        for name, (is_important, value) in declared.items():
            weighty = (is_important, *weight[1:])
            if name not in found or weighty >= found[name][0]:
                found[name] = weighty, value
    return {name: value for name, (_, value) in found.items()}


def _hides(style: _Style, names: Iterable[str]) -> bool:
    """Return whether a style hides its element for certain."""
    return any(_hides_by(name, style[name], style) for name in style.keys() & {*names})


def _hides_by(name: str, value: str, style: _Style) -> bool:
    if name in _SIZES:
        is_cut = style.get("overflow") in ("hidden", "clip") and not _changes(f"min-{name.removeprefix('max-')}", style)
        has_padding = any(style[each].strip("0px% ") for each in style if each.startswith("padding"))
        return is_cut and not has_padding and re.fullmatch(f"{_ZERO}|1px", value) is not None
    values, unless = _HIDING.get(name, (None, frozenset()))
    is_hiding = values is not None and values.fullmatch(value) is not None
    return is_hiding and not any(_changes(each, style) for each in unless)


def _changes(name: str, style: _Style) -> bool:
    """Return whether a property has more than a value by which most pages reset their styles."""
    return not all(map(_NEUTRAL.fullmatch, style.get(name, "").split()))
