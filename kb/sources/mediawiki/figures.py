"""Pictures of a wiki page: their files, captions and sections, and which of them show the living species."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Final, Literal
from urllib.parse import parse_qs, unquote

from bs4 import Tag

from data.records import Article, Figure, LeftOut
from data.words import without_qualifier
from kb import reasons
from kb.addresses import split_address
from kb.checklist.avilist import CLASS_NAME, load_checklist
from kb.checklist.names import epithet_stem, fold
from kb.sources.mediawiki.taxoboxes import plain

FIGURES_PER_ARTICLE: Final = 20  # of which a wiki is asked for the licences
SMALLEST_ICON_PX: Final = 50  # a narrower picture is an icon
PHOTO_SUFFIXES: Final = frozenset({"jpg", "jpeg", "jpe", "png", "webp", "gif", "tif", "tiff"})
HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
# Classes of boxes around the article, for stubs, portals, warnings and other pages.
FOREIGN_BOXES: Final = frozenset((
    "metadata", "stub", "ambox", "mbox-small", "tmbox", "cmbox", "ombox", "dmbox", "navbox", "navbox-inner",
    "vertical-navbox", "sidebar", "sistersitebox", "side-box", "portal", "portalbox", "portal-bar", "noviewer",
    "topicon", "mw-indicator", "mw-indicators", "authority-control", "hatnote", "dablink", "asbox",
    "mw-ext-score", "ext-phonos", "listen", "haudio", "mw-kartographer-container", "previewnote", "catlinks",
    "bandeau-article", "homonymie",
))  # fmt: skip
_GALLERIES: Final = frozenset(("gallery", "gallerybox", "mod-gallery", "multiimageinner", "tmulti"))
_THUMB = re.compile(r"/thumb/[0-9a-f]/[0-9a-f]{2}/([^/]+)/[^/]+$")
_ORIGINAL = re.compile(r"/[0-9a-f]/[0-9a-f]{2}/([^/]+)(?:/revision/.*)?$")  # the latter on Fandom
_FILE_TITLE = re.compile(r"^[^:/]+:(.+\.[A-Za-z0-9]{2,5})$")


def find_figures(root: Tag, taxobox: Tag | None) -> tuple[Figure, ...]:
    """Return the figures of an article, each file once: the lead image first, then galleries, then the rest.

    The lead image is the first photo of the taxobox; without a taxobox, the first photo outside galleries. Maps and
    icons are never the lead. Further photos of the taxobox count as gallery.
    """
    found: list[Figure] = []
    chapter = section = ""
    needs_lead = True
    for image in root.find_all(["img", *HEADINGS]):
        if image.name != "img":
            section = plain(image)
            chapter = section if image.name in ("h1", "h2") else chapter
            continue
        around = list(takewhile(lambda parent: parent is not root, image.parents))
        classes = {each for parent in around for each in parent.get_attribute_list("class")}
        is_icon = _is_icon(image) or not classes.isdisjoint(FOREIGN_BOXES) or "magnify" in classes
        file = None if is_icon or any(each.name in ("sup", "h2", "h3") for each in around) else file_name(image)
        if file is None or _STATUS.match(file):
            continue
        in_box = any(parent is taxobox for parent in around)
        caption = _caption_in_box(image) if in_box else _caption(around)
        is_subject = is_photo(file) and not is_map_or_icon(file, caption)
        in_gallery = not classes.isdisjoint(_GALLERIES)
        is_lead = needs_lead and is_subject and (in_box or (taxobox is None and not in_gallery))
        role: Literal["lead", "gallery", "body"] = (
            "lead" if is_lead else "gallery" if in_gallery or (in_box and is_subject) else "body"
        )
        title = " - ".join(dict.fromkeys(filter(None, (chapter, section))))
        found.append(Figure(file=file, caption=caption, section=title, role=role))
        needs_lead = needs_lead and not is_lead
    found.sort(key=lambda figure: ("lead", "gallery", "body").index(figure.role))
    first: dict[str, Figure] = {}
    for figure in found:
        first.setdefault(figure.file, figure)
    return tuple(first.values())


def file_name(image: Tag) -> str | None:
    """Return the title of a picture's file page without namespace: by the link to it, its data or its address.

    The first letter stays as the wiki writes it: on some wikis, small and capital ones name different files.
    """
    links = [str(parent.get("href") or "") for parent in list(image.parents)[:3] if parent.name == "a"]
    for address in (*links[:1], str(image.get("resource") or "")):
        if name := _name_in_link(address):
            return name
    if name := str(image.get("data-image-name") or ""):
        return _as_title(name)
    path = unquote(split_address(_address(image)).path)
    match = _THUMB.search(path) or _ORIGINAL.search(path)
    return _as_title(match[1]) if match else None


def _address(image: Tag) -> str:
    """Return the address of a picture, also of one that is loaded once it is scrolled to."""
    found = (str(image.get(key) or "") for key in ("data-src", "src"))
    return next(filter(None, found), "")


def _name_in_link(address: str) -> str | None:
    parts = split_address(address)
    query = parse_qs(parts.query).get("title")
    tail = query[0] if query else unquote(parts.path).rsplit("/wiki/", 1)[-1].rsplit("/index.php/", 1)[-1]
    match = _FILE_TITLE.match(tail.removeprefix("./").rpartition("/")[2])
    return _as_title(match[1]) if match else None


def _as_title(name: str) -> str:
    return unquote(name).replace("_", " ").strip()


def _is_icon(image: Tag) -> bool:
    source = _address(image)
    if any(part in source for part in ("/skins", "/resources/", "/extensions/")):
        return True
    if source.startswith("data:") and not image.get("data-image-name"):
        return True
    widths = (str(image.get(name) or "") for name in ("width", "data-file-width"))
    return any(width.isdecimal() and 0 < int(width) < SMALLEST_ICON_PX for width in widths)


def _caption_in_box(image: Tag) -> str:
    """Return the text beside a picture of a taxobox, or in the row below it."""
    cell, row = image.find_parent(["td", "th"]), image.find_parent("tr")
    if cell is not None and (text := plain(cell)):
        return text
    following = row.find_next_sibling("tr") if row is not None else None
    if following is not None and following.find(["th", "img"]) is None and len(cells := following.find_all("td")) == 1:
        return plain(cells[0])
    return ""


def _caption(around: list[Tag]) -> str:
    for parent in around:
        if caption := parent.find(class_=["thumbcaption", "gallerytext"]) or parent.find("figcaption"):
            return plain(caption)
        if parent.name in ("table", "section", "p", "ul"):
            break
    return ""


# What a picture shows, by its file name and caption.

_SIGN_SUFFIXES = frozenset({"png", "gif", "svg"})  # formats of maps and icons, rarely of photos
_MAP = re.compile(
    r"(?:^|[\W_])(?:maps?|range[\W_]?maps?|distribution|verbreitung|locator|mapa|karte|cladogram|phylogen\w*)(?:$|[\W_\d])"
    r"|(?:distribution|range)[\W_]?map|[a-z]map\.\w+$|distribution\.\w+$",
    re.IGNORECASE,
)
_SIGN = re.compile(
    r"(?:^|[\W_])(?:range|location|carte|timeline|logo|icon|flag|coat[\W_]of[\W_]arms|padlock|question[\W_]?book\S*|commons|"
    r"wikispecies|wikidata|loudspeaker|gnome|speaker|sound|distrib)(?:$|[\W_])",
    re.IGNORECASE,
)
_STATUS = re.compile(r"^(?:status[\W_]|iucn[\W_])", re.IGNORECASE)
_RANGE_CAPTION = re.compile(
    r"(?:(?:approximate|native|breeding|geographic(?:al)?|global|world|current|known|year-round)\s+)*(?:range|distribution)\b",
    re.I,
)


def is_photo(file: str) -> bool:
    """Return whether a file may be a photo, by its suffix."""
    return file.rpartition(".")[2].lower() in PHOTO_SUFFIXES


def is_map_or_icon(file: str, caption: str) -> bool:
    """Return whether a picture is a map or an icon, by its name or caption."""
    if _MAP.search(file) or _STATUS.match(file) or _RANGE_CAPTION.match(caption):
        return True
    return file.rpartition(".")[2].lower() in _SIGN_SUFFIXES and _SIGN.search(file) is not None


def _any_of(patterns: str) -> str:
    return "|".join(re.split(r",\s+", patterns.strip()))


_DRAWING = re.compile(
    r"\b(?:"
    + _any_of(r"""
        illustrat(?:ion|ions|ed), paintings?, painted by, lithograph\w*, engravings?, engraved, drawings?, drawn by,
        woodcuts?, sketch(?:es)?, watercolou?rs?, artworks?, artists? impression, reconstruction, restoration,
        (?:colou?r )?plate (?:\d|[IVXL]+\b|of|from|in), colou?r plate, zeichnung, gem[aä]lde, dessin, aquarelle?,
        keulemans, naumann, thorburn, haeckel, edward lear, nordisk familjebok, brehms?, lydekker, birds of america,
        (?:audubon|gould)\b(?! (?:center|centre|zoo|park|society|sanctuary|aviary)), histoire naturelle, iconographia
    """)
    + r")\b",
    re.IGNORECASE,
)
# Words that tell what a picture shows wherever they stand.
_NEVER = re.compile(
    r"\b(?:"
    + _any_of(r"""
        museums?, mus[eé]e, taxiderm\w*, stuffed, mounted, study skins?, (?:holo|lecto|para|syn|neo)types?, preserved,
        mumm(?:y|ified), MHNT, MNHN, NHMUK, BMNH, USNM, RMNH, ZMB, MWNH, UMZC, AMNH, FMNH, MCZ, NMW, SMF, ZFMK, YPM,
        NMNZ, OUMNH, MVZ, ANSP, LACM, ZMA, naturalis, te papa, micrographs?, electronmicrograph, microscop\w*,
        histolog\w*, cross[ -]?sections?, SEM, frogskin, stamps?, coins?, banknotes?, statues?, statuettes?,
        sculptures?, carvings?, figurines?, murals?, mosaics?, tapestr(?:y|ies), logo, emblem, coats? of arms,
        heraldry, poster, postcard, christmas card, cartoon, cave (?:art|painting), totem, costume, headdress,
        diagrams?, charts?, graphs?, cladograms?, phylogen\w*, family tree, sonograms?, spectrograms?, x-?rays?,
        radiographs?, anatomy, hybrids?, crossbreed, fossili[sz]ed,
        (?:who|first) (?:formally |first )?(?:named|described|discovered),
        (?:named|described|discovered) (?:the|this|it|by), named (?:after|for|in), it (?:is|was) named, honou?r of,
        naturalists?, ornithologists?, zoologists?, botanists?, explorers?, (?:was|were) (?:killed|shot|exterminated),
        contests?, festivals?, ceremon(?:y|ies), mascots?, for sale
    """)
    + r")\b|\b\d+x\b(?! ?\d{3})",  # enlarged 40 times
    re.IGNORECASE,
)
# Words that tell what a picture shows unless a living animal comes before them: "Female at her nest".
_THINGS = _any_of(r"""
    eggs?, egg-?shells?, clutch(?:es)?, spawn, frog-?spawn, eier?, gelege, [oœ]e?ufs?, huevos?, nests?,
    nest ?box(?:es)?, nid, burrows?, tunnels?, skulls?, jaws?, skeletons?, skeletal, bones?, humerus, femur, sternum,
    teeth, tooth, radula, sch[aä]del, skelett, fossils?, specimens?, feathers?, tracks?, foot-?prints?, droppings,
    scats?, faeces, feces, dung, guano, pellets?, shells?, carcass\w*, road-?kill\w*, corpse, pelts?, furs?, skins?,
    ivory, tusks, meat, cooked, dead(?! (?:tree|branch|wood|leaf|leaves|reed|stem|twig|snag)), roast(?:ed)?, served,
    market, portraits?, (?<!isle of )m[ae]n, wom[ae]n, people, children, hunters, fishermen, falconers?, researchers?,
    habitats?, landscape, organs?, o?esophagus, larynx, syrinx, heart, gizzard
""")
_THING = re.compile(rf"\b(?:{_THINGS})\b", re.IGNORECASE)
# Before a thing beside which the animal is: "On a nest".
_BESIDE = re.compile(
    r"\b(?:on|at|near|in|off|leaves|builds|guards|incubates|eats|carries|collects"
    r"|(?:leav|build|guard|incubat|eat|carry|collect)ing)(?: [\w-]+){0,2} $",
    re.IGNORECASE,
)
_YOUNG = _any_of("""
    chicks?, nestlings?, fledge?lings?, ducklings?, goslings?, cygnets?, juv(?:eniles?)?, immatures?, tadpoles?,
    larvae?, caterpillars?, pupae?, chrysalis, nymphs?, cubs?, calf, calves, kittens?, pups?, young, jung
""")
_GROWN = _any_of("""
    (?:fe)?males?, (?:sub)?adults?, imagos?, hens?, cocks?, cockerels?, drakes?, vixen, pairs?, couple, birds?,
    individuals?, flocks?, herds?, party, families, family of, mother, parents?, upperside, underside, summer plumage,
    breeding plumage, amplexus
""")
_BETWEEN = r"with|at|on|in|and|near|by|from|to|of|feeds?|defends|lays|\w{3,}ing"
# Not before a thing of its own, even after one more word: "condor wing bones".
_NO_THING = rf"(?!['’]s|s['’]|(?:[ -](?!(?:{_BETWEEN})\b)\w+)?[ -](?:{_THINGS})\b)"
_LIVING = re.compile(rf"\b(?:{_GROWN}|{_YOUNG})\b{_NO_THING}", re.IGNORECASE)
_YOUNG_ONE = re.compile(rf"\b(?:{_YOUNG})\b", re.IGNORECASE)
_GROWN_ONE = re.compile(rf"\b(?:{_GROWN})\b", re.IGNORECASE)
_MALE, _FEMALE = (
    re.compile(r"(?<!fe)males?\b|\bdrake|\bcock\b", re.I),
    re.compile(r"\bfemales?\b|\bhen\b|\bvixen", re.I),
)
# Initials and a surname at the beginning: a person.
_PERSON = re.compile(r"^(?:(?:Sir|Dr|Baron|Count|Captain)\.? )?(?:[A-Z]\. ?)+[A-Z][a-zà-ÿ]+")
# In these parts of a page many pictures show something else, so they must name the species, or its sex or age.
_OTHER_MATTERS = re.compile(
    r"taxonom|systemat|etymolog|naming|histor|evolution|fossil|phylogen|cultur|mytholog|folklore|symbol|literature"
    r"|\barts?\b|parasit|predat|threat|diet|food|prey|similar|hybrid|relative|extinct|hunting"
    r"|trade|\buses?\b|conservation|habitat|\bhosts?\b|people|humans?|domestic|anatom|disease|sport|religio|commerc|econom|cuisine|medicin",
    re.IGNORECASE,
)
_BINOMIAL = re.compile(r"\b([A-Z][a-z]+|[A-Z]\.) ([a-z]{3,}(?:-[a-z]+)?)\b")
_LATIN_GENUS = re.compile(r"(?:us|a|is|um|on|es|ops|os|as|ys|[aeiy]x|or|er|ens|o|e|i)$")
_LATIN_EPITHET = re.compile(r"(?:[^o]us|[^s]a|um|[^h]is|i|ae|oides|ops|ax|ens|[^m]ans|[lt]or)$")
_ENGLISH = frozenset((
    "adult", "female", "females", "male", "males", "juvenile", "plumage", "range", "species", "subspecies", "various",
    "numerous", "previous", "camera", "area", "panorama", "data", "floor", "colour", "color", "album", "forum",
    "during", "with", "eggs", "nest", "bones", "skeleton", "skull", "bird", "birds", "spawn", "larva", "pupa", "basis",
))  # fmt: skip
# Before the plant that a bird or an insect sits on or feeds on.
_ON_PLANT = re.compile(
    r"\b(?:on|at|among|eat(?:s|ing)|visit(?:s|ing)|pollinat(?:es|ing)"
    r"|(?:flowers?|nectar|lea(?:f|ves)|fruits?|seeds?|berries) (?:of|from))(?: an?| the)? $"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The pictures of an article, sorted by what they show."""

    photos: tuple[Figure, ...]
    """Photos that may show the living species, the best first."""
    drawings: tuple[Figure, ...] = ()
    """Drawings, which serve where no photo does."""
    others: tuple[LeftOut, ...] = ()
    """The rest, with reasons."""

    @property
    def usable(self) -> tuple[Figure, ...]:
        """The first photos, then drawings; a page may have hundreds of images."""
        return (*self.photos, *self.drawings)[:FIGURES_PER_ARTICLE]


def pictures_of(article: Article) -> Pictures:
    """Return the pictures of an article: the lead image first, then by what file name, caption and section say.

    Pictures of another species, people, eggs, nests, bones, specimens and things are left out, and drawings come after
    all photos. Photos that name the species or its sex come before others, young ones last, and a sex that the lead
    image does not show comes first. The lead image of a taxobox is trusted to be of the species.
    """
    reader = _Reader(article)
    photos: list[tuple[int, bool, Figure]] = []
    drawings: list[Figure] = []
    others: list[LeftOut] = []
    seen: set[str] = set()
    for figure in article.figures:
        reason, detail = reader.fault(figure)
        if reason == reasons.DRAWING:
            drawings.append(figure)
        elif reason:
            others.append(LeftOut(name=figure.file, reason=reason, detail=detail))
        else:
            sexes = _sexes(figure.caption)
            seen |= sexes if figure.role == "lead" else set()
            photos.append((reader.rank(figure), sexes <= seen, figure))
    photos.sort(key=lambda each: each[:2])
    return Pictures(photos=tuple(figure for *_, figure in photos), drawings=tuple(drawings), others=tuple(others))


def _sexes(caption: str) -> set[str]:
    return {sex for sex, pattern in (("male", _MALE), ("female", _FEMALE)) if pattern.search(caption)}


class _Reader:
    """Reads what the pictures of an article show."""

    def __init__(self, article: Article) -> None:
        box = article.infobox
        self._species = box.binomial if box is not None else None
        self._is_bird = box is not None and box.classification.get("class") == CLASS_NAME
        synonyms = [text for key, text in box.rows.items() if "synonym" in key.lower()] if box is not None else []
        self._binomials = [
            self._species or "",
            *(" ".join(each.groups()) for s in synonyms for each in _BINOMIAL.finditer(s)),
        ]
        names = (without_qualifier(article.source.title), box.name if box is not None else "")
        self._english = [name for name in names if name]

    @cached_property
    def _names(self) -> frozenset[str]:
        """All names of the species, folded."""
        names = [*self._binomials, *self._english]
        if self._is_bird and self._species and (taxon := load_checklist().find(self._species)) is not None:
            names += taxon.all_names
        return frozenset(fold(name) for name in names if name)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(epithet_stem(name) for name in self._binomials if name)

    @cached_property
    def _own(self) -> re.Pattern[str]:
        """English and scientific names of the species, where no thing follows."""
        names = {*self._english, *self._binomials} - {""}
        joined = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
        return re.compile(rf"\b(?:{joined})s?\b{_NO_THING}", re.IGNORECASE)

    @cached_property
    def _head(self) -> re.Pattern[str]:
        """The last word of an English name, alone or after a few words: "a robin", not "the Japanese robin"."""
        heads = {re.escape(name.split()[-1]) for name in self._english if name not in self._binomials}
        before = rf"(?:^|[.,;] ?|\b(?:an?|the|this|of|with|and|by|{_GROWN}|{_YOUNG}) )"
        return re.compile(rf"{before}(?:{'|'.join(heads) or '(?!)'})s?\b{_NO_THING}", re.IGNORECASE)

    def fault(self, figure: Figure) -> tuple[str, str]:
        """Return why a picture is not used, with the word that says so; empty texts for a photo of the species."""
        if not is_photo(figure.file):
            return reasons.NOT_A_PHOTO, ""
        if is_map_or_icon(figure.file, figure.caption):
            return reasons.MAP_OR_SIGN, ""
        name, caption = _words(figure.file), figure.caption
        both = f"{name}. {caption}"
        if found := _NEVER.search(both) or _PERSON.search(caption):
            return reasons.OTHER_MATTER, found[0]
        if (
            figure.role != "lead"
            and self._species
            and (other := self._other_species(name) or self._other_species(caption))
        ):
            return reasons.OTHER_SPECIES, other
        if found := self._thing(caption) or (None if self._living(caption) else self._thing(name)):
            return reasons.OTHER_MATTER, found[0]
        if _DRAWING.search(self._own.sub(" ", both)) or figure.file.lower().endswith(".gif"):
            return reasons.DRAWING, ""
        if figure.role != "lead" and _OTHER_MATTERS.search(figure.section) and not self._living(both):
            return reasons.OTHER_MATTER, figure.section
        return "", ""

    def rank(self, figure: Figure) -> int:
        """Return 0 for the lead image, 1 where the species or a grown animal is named, 3 for young ones, else 2."""
        text = f"{_words(figure.file)}. {figure.caption}"
        if figure.role == "lead":
            return 0
        if _GROWN_ONE.search(text):
            return 1
        if _YOUNG_ONE.search(text):
            return 3
        return 1 if self._living(text) else 2

    def _living(self, text: str) -> re.Match[str] | None:
        """Return the first mention of the species or of a living animal."""
        found = [match for pattern in (_LIVING, self._own, self._head) if (match := pattern.search(text))]
        if not self._species:  # a page on a group shows its species
            found += (match for match in _BINOMIAL.finditer(text) if _is_latin(*match.groups()))
        return min(found, key=lambda match: match.start(), default=None)

    def _thing(self, text: str) -> re.Match[str] | None:
        """Return what a text says to be in the picture, unless a living animal is."""
        living = self._living(text)
        things = (each for each in _THING.finditer(text) if not _BESIDE.search(text[: each.start()]))
        return next((each for each in things if living is None or each.start() < living.start()), None)

    def _other_species(self, text: str) -> str:
        """Return the first name of another species, empty without one."""
        for match in _BINOMIAL.finditer(text):
            genus, epithet = match.groups()
            if epithet in _ENGLISH or epithet_stem(epithet) in self._stems or _ON_PLANT.search(text[: match.start()]):
                continue
            is_own_genus = bool(genus) and any(name.startswith(genus.rstrip(".")) for name in self._binomials if name)
            if _is_latin(genus, epithet) or (is_own_genus and _LATIN_EPITHET.search(epithet)):
                return match[0]
        return self._other_bird(self._own.sub(" | ", text)) if self._is_bird else ""

    def _other_bird(self, text: str) -> str:
        """Return the first English name of another bird, of two words or more."""
        words = text.split()
        checklist = load_checklist()
        for i in range(len(words)):
            for n in range(min(5, len(words) - i), 1, -1):
                name = " ".join(words[i : i + n]).strip(".,;:()")
                found = checklist.find(name) if "|" not in name else None
                if found is not None and found.rank == "species" and self._names.isdisjoint(map(fold, found.all_names)):
                    return name
        return ""


def _is_latin(genus: str, epithet: str) -> bool:
    """Return whether two words look like a binomial."""
    return epithet not in _ENGLISH and bool(_LATIN_GENUS.search(genus) and _LATIN_EPITHET.search(epithet))


def _words(file: str) -> str:
    """Return a file name as words, without suffix and signs."""
    stem = file.rpartition(".")[0]
    return " ".join(re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", stem)).split())
