"""Technical terms: ids, files of terms, and definitions from articles."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from data.errors import BadInput
from data.files import read_lines
from data.records import Article, Term
from data.words import capitalised, without_qualifier
from kb.distill.sentences import SectionKind, sections_of, split_sentences
from kb.distill.visual import drop_brackets, tidy, visual_score

_MAX_DEFINITION_WORDS = 70
_MAX_LOOK_FOR_WORDS = 90
_MAX_LOOK_FOR_SENTENCES = 4
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_DEFINES = re.compile(r"\b(?:is|are|was|were|refers?|means?|denotes?|describes?|consists?|occurs?)\b")
_ALIASES = re.compile(
    r"\b(?:also (?:known as|called|spelled|referred to as|termed)|sometimes called|or simply|or) "
    r"[\"“]?(?:an? |the )?(?P<alias>[a-z][\w '’-]{2,40}?)[\"”]?(?=[,;.)]| is | are | or | and )"
)


def term_id(name: str) -> str:
    """Return the id of a term: `term:` and its name as a slug."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = _NOT_SLUG.sub("-", plain).strip("-")
    # A name without a Latin letter keeps an id of its own.
    return f"term:{slug or _NOT_SLUG.sub('-', name.encode().hex())}"


def read_terms(path: Path | str) -> list[tuple[str, str | None]]:
    """Return the `(term, page title or None)` pairs of a file: one per line, optionally with a tab and the title.

    Raises:
        BadInput: if the file is not UTF-8, has no terms, or a faulty line or a term twice; with the number of the line.
    """
    terms: list[tuple[str, str | None]] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(read_lines(Path(path)), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, *titles = (part.strip() for part in line.rstrip().split("\t"))
        if not name:
            expected = "expected `term` or `term<TAB>page title`"
            raise BadInput(f"{path} line {number}: {expected}, got a title without a term")
        if len(titles) > 1:
            raise BadInput(f"{path} line {number}: expected at most one tab, got {len(titles)}")
        key = term_id(name)
        if key in seen:
            raise BadInput(f"{path} line {number}: {name!r} is in line {seen[key]} already")
        seen[key] = number
        terms.append((name, titles[0] if titles and titles[0] else None))
    if not terms:
        hint = "Expected one term per line, optionally a tab and the title of its page."
        raise BadInput(f"{path} has no terms", hint=hint)
    return terms


def term_from_article(name: str, article: Article) -> Term | None:
    """Return a term with its definition and visible features in the words of an article.

    The definition is the first defining sentence of the lead, with the next one if it is short; `look_for` the most
    visual sentences of lead and sections on looks. A disambiguation or an empty lead gives None.
    """
    lead = [] if article.is_disambiguation else _lead_sentences(article)
    if not lead:
        return None
    start = next((i for i, text in enumerate(lead[:3]) if _DEFINES.search(text)), 0)
    definition = lead[start]
    used = start + 1
    if len(definition.split()) < 25 and used < len(lead):
        longer = f"{definition} {lead[used]}"
        if len(longer.split()) <= _MAX_DEFINITION_WORDS:
            definition, used = longer, used + 1
    return Term(
        term_id=term_id(name),
        name=name,
        definition=definition,
        look_for=_look_for(article, lead[used:], definition),
        aliases=_aliases(name, article, lead[0]),
        source=article.source,
    )


def _lead_sentences(article: Article) -> list[str]:
    filled = [(section, kind) for section, kind in sections_of(article) if section.end > section.start]
    # Without a lead, the first section with text takes its place.
    lead = next((each for each in filled if each[1] is SectionKind.LEAD), next(iter(filled), None))
    if lead is None or lead[1] is SectionKind.NEVER:
        return []
    spans = split_sentences(article.text, lead[0].start, lead[0].end)
    texts = (drop_brackets(article.text[span.start : span.end]) for span in spans)
    return [capitalised(text) for text in texts if len(text.split()) >= 4 and text[-1:] in '.!?”"']


def _look_for(article: Article, rest_of_lead: list[str], definition: str) -> str:
    offered = [(visual_score(text), text) for text in rest_of_lead]
    for section, kind in sections_of(article):
        if kind in (SectionKind.LOOKS, SectionKind.NEUTRAL):
            looks = kind is SectionKind.LOOKS
            for span in split_sentences(article.text, section.start, section.end):
                text = drop_brackets(article.text[span.start : span.end])
                offered.append((visual_score(text, in_section_on_looks=looks) - (0 if looks else 0.5), text))
    visible = [(score, i, text) for i, (score, text) in enumerate(offered) if score > 0 and len(text.split()) >= 4]
    chosen: list[tuple[int, str]] = []
    words = 0
    for _, i, text in sorted(visible, key=lambda item: (-item[0], item[1])):
        length = len(text.split())
        is_told = any(text in told for told in (definition, *(told for _, told in chosen)))
        if not is_told and words + length <= _MAX_LOOK_FOR_WORDS and len(chosen) < _MAX_LOOK_FOR_SENTENCES:
            chosen.append((i, text))
            words += length
    return tidy(" ".join(text for _, text in sorted(chosen)))


def _aliases(name: str, article: Article, first: str) -> tuple[str, ...]:
    found = (match["alias"].strip() for match in _ALIASES.finditer(first.partition(" is ")[0] + ","))
    aliases = dict.fromkeys((without_qualifier(article.source.title), *found))
    return tuple(alias for alias in aliases if alias and alias.casefold() != name.casefold())
